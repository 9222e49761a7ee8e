"""Re-authenticates long responses, so that revoking a key also ends its streams."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Scope, Send

from curtsy.api.auth.cache import CACHED_FOR
from curtsy.api.problems import close_message
from curtsy.errors import KeyNeeded, NotAllowed, StoreAway

OPENS = ("http.response.start", "websocket.accept")
END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class StreamAccess:
    """Sends a response. During a long response, calls `authorise` again every second."""

    def __init__(
        self, scope: Scope, send: Send, authorise: Callable[[Scope], Awaitable[None]],
        monotonic: Callable[[], int],
    ) -> None:  # fmt: skip
        self.scope, self._send, self._authorise = scope, send, authorise
        self._monotonic = monotonic
        self._checked_at = monotonic()
        self._is_open = self._is_over = False
        self._sending = asyncio.Lock()

    async def __call__(self, message: Message) -> None:
        if self._is_over:
            return
        if message["type"] in OPENS:
            self._is_open = True
        if message.get("more_body") or message["type"] == "websocket.send":
            async with self._sending:
                message = await self._checked(message)
                await self._send(message)
        else:
            await self._send(message)

    async def end(self, error: KeyNeeded | NotAllowed) -> None:
        """Ends the response behind what is being sent; the application's later messages are
        dropped. Does nothing while there is no response to end."""
        if self._is_open and not self._is_over:
            self._is_over = True
            async with self._sending:
                await self._send(self._last_message(error))

    async def _checked(self, message: Message) -> Message:
        """Returns the message, or the end of the stream in its place. While the store is away the
        stream goes on: without the store there is nothing new to disclose."""
        now = self._monotonic()
        if now - self._checked_at < CACHED_FOR:
            return message
        self._checked_at = now
        try:
            await self._authorise(self.scope)
        except StoreAway:
            return message
        except (KeyNeeded, NotAllowed) as error:
            self._is_over = True
            return self._last_message(error)
        return message

    def _last_message(self, error: KeyNeeded | NotAllowed) -> Message:
        return close_message(error) if self.scope["type"] == "websocket" else END
