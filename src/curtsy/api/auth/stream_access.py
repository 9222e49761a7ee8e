"""Re-authenticates open streams, so that revoking a key also ends its streams."""

from collections.abc import Awaitable, Callable

from starlette.types import Message, Scope, Send

from curtsy.api.auth.cache import CACHED_FOR
from curtsy.api.problems import close_message
from curtsy.errors import KeyNeeded, NotAllowed, StoreAway

END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class StreamAccess:
    """Sends a response. During a long response, calls `authorise` again every second."""

    def __init__(
        self, scope: Scope, send: Send, authorise: Callable[[Scope], Awaitable[None]],
        monotonic: Callable[[], int],
    ) -> None:  # fmt: skip
        self._scope, self._send, self._authorise = scope, send, authorise
        self._monotonic = monotonic
        self._checked_at = monotonic()
        self._is_over = False

    async def __call__(self, message: Message) -> None:
        if self._is_over:
            return
        if message.get("more_body") or message["type"] == "websocket.send":
            message = await self._checked(message)
        await self._send(message)

    async def _checked(self, message: Message) -> Message:
        """Returns the message, or the end of the stream in its place. While the store is away the
        stream goes on: without the store there is nothing new to disclose."""
        now = self._monotonic()
        if now - self._checked_at < CACHED_FOR:
            return message
        self._checked_at = now
        try:
            await self._authorise(self._scope)
        except StoreAway:
            return message
        except (KeyNeeded, NotAllowed) as error:
            self._is_over = True
            return close_message(error) if self._scope["type"] == "websocket" else END
        return message
