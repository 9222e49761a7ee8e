"""Questions to the API and its answers; what goes wrong is an error of ours, in a sentence."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from curtsy.errors import CurtsyError

STORE_AWAY = 503


class Unanswered(CurtsyError):
    code = "unanswered"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"No curtsy answers at {url} ({reason}): start one there with `curtsy up`, or leave "
            "--url and CURTSY_URL out to work on the local database."
        )


class Declined(CurtsyError):
    """The API said no: `status`, `code`, `errors` and `part` as in its problem document."""

    def __init__(
        self, status: int, code: str, detail: str, *, errors: Sequence[dict[str, Any]] = (),
        part: str | None = None, retry_after: int | None = None,
    ) -> None:  # fmt: skip
        self.status, self.code = status, code
        self.errors = errors
        """Each problem with where it is."""
        self.part = part
        """Of a 501: what brings it."""
        self.retry_after = retry_after
        """Seconds after which to ask again, where the API said so."""
        super().__init__(detail)

    @property
    def store_is_away(self) -> bool:
        """Then the same question is answered once it is back."""
        return self.status == STORE_AWAY


class ApiConnection:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self.was_answered = False
        """There is somebody at that place, or was."""

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
            raise self.declined(reply.status_code, reply.headers, reply.content)
        said = self._read(reply)
        self.was_answered = True
        return said

    async def health(self) -> dict[str, Any]:
        """What it says of itself, also while its store is away."""
        reply = await self._reply("GET", "/health", None, {})
        said = self._read(reply)
        if not isinstance(said, dict) or "workers" not in said:
            raise self._stranger(reply.status_code)
        return said

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

    def stream_url(self, path: str) -> str:
        """Of a WebSocket at the same place."""
        return self.place.replace("http", "ws", 1) + path

    def stream_options(self) -> dict[str, Any]:
        """For it: who asks."""
        known = self._http.headers.get("Authorization")
        return {"additional_headers": {"Authorization": known}} if known else {}

    def _read(self, reply: httpx.Response) -> Any:
        try:
            return reply.json()
        except ValueError:
            raise self._stranger(reply.status_code) from None

    def declined(
        self, status: int, headers: Mapping[str, str], body: bytes
    ) -> Declined | Unanswered:
        """What an answer that says no comes to."""
        after = headers.get("Retry-After", "")
        try:
            problem = json.loads(body)
            return Declined(
                status, problem["code"], problem["detail"], errors=problem.get("errors", ()),
                part=problem.get("part"), retry_after=int(after) if after.isdigit() else None,
            )  # fmt: skip
        except (ValueError, KeyError, TypeError):
            return self._stranger(status)

    def _stranger(self, status: int) -> Unanswered:
        return Unanswered(self.place, f"what answers is no curtsy: {status}")
