"""Requests to the API and its responses. Failures are `CurtsyError`s with a sentence."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from curtsy.errors import CurtsyError

if TYPE_CHECKING:
    import httpx

STORE_AWAY = 503
APP_CLOSE_CODES = range(4000, 5000)
"""Close codes that mean an HTTP status (4404 is 404); connecting again does not help."""


class Unanswered(CurtsyError):
    """Nothing answered at the API's address, or something that is not curtsy did."""

    code = "unanswered"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"No curtsy answers at {url} ({reason}): start one there with `curtsy up`, or work on "
            "the local database without --url and CURTSY_URL."
        )


class Declined(CurtsyError):
    """The API refused: `status`, `code`, `errors` and `part` as in its problem document."""

    def __init__(
        self, status: int, code: str, detail: str, *, errors: Sequence[dict[str, Any]] = (),
        part: str | None = None, retry_after: int | None = None,
    ) -> None:  # fmt: skip
        self.status, self.code = status, code
        self.errors = errors
        """Each problem with its location."""
        self.part = part
        """With a 501: the part of curtsy that will bring the feature."""
        self.retry_after = retry_after
        """Seconds after which to retry, where the API named them."""
        super().__init__(detail)

    @property
    def store_is_away(self) -> bool:
        """True if the API cannot reach its database: retry the same request later."""
        return self.status == STORE_AWAY


class StreamRefused(Exception):
    """A WebSocket did not open, or was closed for good (`is_final`)."""

    def __init__(self, error: Declined | Unanswered, *, is_final: bool) -> None:
        self.error, self.is_final = error, is_final
        super().__init__(str(error))


class ApiConnection:
    """Requests to one API, over HTTP."""

    def __init__(self, http: "httpx.AsyncClient") -> None:
        self._http = http
        self.was_answered = False
        """True once a curtsy has answered at this address."""

    async def close(self) -> None:
        """May be called more than once."""
        await self._http.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Returns the JSON of the response. Raises `Declined` or `Unanswered`."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        reply = await self._reply(method, path, body, given, headers)
        if reply.is_error:
            raise self.error_from(reply.status_code, reply.headers, reply.content)
        body = self._read(reply)
        self.was_answered = True
        return body

    async def text(self, path: str, *, query: dict[str, Any]) -> str:
        """Returns the text of a response that is not JSON. Raises `Declined` or `Unanswered`."""
        reply = await self._reply("GET", path, None, query)
        if reply.is_error:
            raise self.error_from(reply.status_code, reply.headers, reply.content)
        return reply.content.decode()

    async def health(self) -> dict[str, Any]:
        """Returns the API's health, also while its database is away."""
        reply = await self._reply("GET", "/health", None, {})
        found = self._read(reply)
        if not isinstance(found, dict) or "workers" not in found:
            raise self._not_curtsy(reply.status_code)
        return found

    async def _reply(
        self,
        method: str,
        path: str,
        body: Any,
        query: dict[str, Any],
        headers: dict[str, str] | None = None,
    ) -> "httpx.Response":
        import httpx  # here, because it takes longer to load than all of our own client

        try:
            return await self._http.request(method, path, json=body, params=query, headers=headers)
        except httpx.TimeoutException:
            raise Unanswered(self.place, "it took too long") from None
        except httpx.TransportError as error:
            raise Unanswered(self.place, str(error) or type(error).__name__) from None

    @property
    def place(self) -> str:
        """The API's URL, without a password."""
        base = self._http.base_url
        return f"{base.scheme}://{base.netloc.decode()}{base.path.rstrip('/')}"

    async def messages(self, path: str) -> AsyncGenerator[str | bytes]:
        """Yields the messages of a WebSocket until the connection is cut. Raises
        `StreamRefused`."""
        from websockets.asyncio.client import connect
        from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

        url = self.place.replace("http", "ws", 1) + path
        key = self._http.headers.get("Authorization")
        try:
            async with connect(
                url, additional_headers={"Authorization": key} if key else None
            ) as stream:
                async for message in stream:
                    yield message
        except ConnectionClosed as closed:
            if closed.rcvd is not None:
                refuse_for_good(closed.rcvd.code, closed.rcvd.reason)
        except InvalidStatus as refused:
            reply = refused.response
            error = self.error_from(reply.status_code, reply.headers, bytes(reply.body or b""))
            raise StreamRefused(error, is_final=False) from None
        except (WebSocketException, OSError) as failure:
            raise StreamRefused(Unanswered(self.place, str(failure)), is_final=False) from None

    def _read(self, reply: "httpx.Response") -> Any:
        try:
            return reply.json()
        except ValueError:
            raise self._not_curtsy(reply.status_code) from None

    def error_from(
        self, status: int, headers: Mapping[str, str], body: bytes
    ) -> Declined | Unanswered:
        """Turns an error response into an exception."""
        after = headers.get("Retry-After", "")
        try:
            problem = json.loads(body)
            return Declined(
                status, problem["code"], problem["detail"], errors=problem.get("errors", ()),
                part=problem.get("part"), retry_after=int(after) if after.isdigit() else None,
            )  # fmt: skip
        except (ValueError, KeyError, TypeError):
            return self._not_curtsy(status)

    def _not_curtsy(self, status: int) -> Unanswered:
        return Unanswered(self.place, f"the server there is not curtsy: it answered {status}")


def refuse_for_good(code: int, reason: str) -> None:
    """Raises `StreamRefused` for a close code that means an HTTP status."""
    if code in APP_CLOSE_CODES:
        declined = Declined(code - APP_CLOSE_CODES.start, "refused", reason)
        raise StreamRefused(declined, is_final=True) from None
