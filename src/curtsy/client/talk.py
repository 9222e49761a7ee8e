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
            f"No curtsy answers at {url} ({reason}). Start one with `curtsy up`, or leave --url "
            "and CURTSY_URL out to work on the local database."
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
        self, method: str, path: str, *, body: Any = None, query: dict[str, Any] | None = None
    ) -> Any:
        """The answer's JSON."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        try:
            reply = await self._http.request(method, path, json=body, params=given)
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            raise Unanswered(str(self._http.base_url), reason) from None
        if reply.is_error:
            raise _declined(reply)
        try:
            return reply.json()
        except ValueError:
            raise Unanswered(str(self._http.base_url), "what answers is no curtsy") from None

    async def results(self, job: str) -> AsyncIterator[dict[str, Any]]:
        """All results and failures of a job, in order, a page at a time; failures have `error`."""
        cursor = None
        while True:
            path = f"/jobs/{job}/results"
            page = await self.ask("GET", path, query={"limit": PAGE, "cursor": cursor})
            for found in page["results"]:
                yield found
            for found in page["failed_articles"]:
                yield found
            cursor = page.get("next_cursor")
            if cursor is None:
                return


def _declined(reply: httpx.Response) -> Declined:
    try:
        problem = reply.json()
        return Declined(reply.status_code, problem["code"], problem["detail"])
    except (ValueError, KeyError, TypeError):
        return Declined(reply.status_code, "refused", f"The API answered {reply.status_code}.")
