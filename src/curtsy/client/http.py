"""Requests to the API and its responses. Failures are `CurtsyError`s with a sentence."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from curtsy.errors import CurtsyError

if TYPE_CHECKING:
    import httpx

STORE_AWAY = 503


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


class ApiConnection:
    def __init__(self, http: "httpx.AsyncClient") -> None:
        self._http = http
        self.was_answered = False
        """True once a curtsy has answered at this address."""

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

    def stream_url(self, path: str) -> str:
        """The URL of a WebSocket of this API."""
        return self.place.replace("http", "ws", 1) + path

    def stream_options(self) -> dict[str, Any]:
        """Options of the WebSocket: the same key."""
        authorization = self._http.headers.get("Authorization")
        return {"additional_headers": {"Authorization": authorization}} if authorization else {}

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
