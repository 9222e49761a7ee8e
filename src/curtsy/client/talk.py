"""Questions to the API and its answers; what goes wrong is an error of ours, in a sentence."""

from collections.abc import AsyncIterator
from typing import Any

import httpx

from curtsy.errors import CurtsyError

PAGE = 200
"""Results are read so many at a time."""


class Unanswered(CurtsyError):
    code = "unanswered"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"No curtsy answers at {url} ({reason}): start one there with `curtsy up`, or leave "
            "--url and CURTSY_URL out to work on the local database."
        )


class Declined(CurtsyError):
    """The API said no: `status` and `code` as in its problem document."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        self.status, self.code = status, code
        super().__init__(detail)


class Talk:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """The answer's JSON."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        reply = await self._reply(method, path, body, given, headers)
        if reply.is_error:
            raise self._declined(reply)
        return self._read(reply)

    async def health(self) -> dict[str, Any]:
        """What it says of itself, also while its store is away."""
        reply = await self._reply("GET", "/health", None, {})
        said = self._read(reply)
        if not isinstance(said, dict) or "workers" not in said:
            raise self._stranger(reply)
        return said

    async def results(self, job: str) -> AsyncIterator[dict[str, Any]]:
        """All results and failures of a job, in order, a page at a time; failures have `error`."""
        cursor = None
        while True:
            query = {"limit": PAGE, "cursor": cursor}
            page = await self.ask("GET", f"/jobs/{job}/results", query=query)
            for found in page["results"]:
                yield found
            for found in page["failed_articles"]:
                yield found
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    async def _reply(
        self,
        method: str,
        path: str,
        body: Any,
        query: dict[str, Any],
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        try:
            return await self._http.request(method, path, json=body, params=query, headers=headers)
        except httpx.TimeoutException:
            raise Unanswered(self.place, "it takes too long") from None
        except httpx.TransportError as error:
            raise Unanswered(self.place, str(error) or type(error).__name__) from None

    @property
    def place(self) -> str:
        """Its URL, without a password."""
        base = self._http.base_url
        return f"{base.scheme}://{base.netloc.decode()}{base.path.rstrip('/')}"

    def stream_options(self) -> dict[str, Any]:
        """For a WebSocket to the same place: who asks."""
        known = self._http.headers.get("Authorization")
        return {"additional_headers": {"Authorization": known}} if known else {}

    def _read(self, reply: httpx.Response) -> Any:
        try:
            return reply.json()
        except ValueError:
            raise self._stranger(reply) from None

    def _declined(self, reply: httpx.Response) -> CurtsyError:
        try:
            problem = reply.json()
            return Declined(reply.status_code, problem["code"], problem["detail"])
        except (ValueError, KeyError, TypeError):
            return self._stranger(reply)

    def _stranger(self, reply: httpx.Response) -> Unanswered:
        return Unanswered(self.place, f"what answers is no curtsy: {reply.status_code}")
