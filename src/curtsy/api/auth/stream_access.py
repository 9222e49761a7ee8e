"""A stream lasts as long as the one who hears it may: a key that is revoked ends it, too."""

from collections.abc import Awaitable, Callable

from starlette.types import Message, Scope, Send

from curtsy.api.auth.cache import KEPT_FOR
from curtsy.api.problems import closing
from curtsy.errors import KeyNeeded, NotAllowed, StoreAway

END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class StreamAccess:
    """Sends an answer; of one that goes on for longer, asks again every second."""

    def __init__(
        self, scope: Scope, send: Send, ask: Callable[[Scope], Awaitable[None]],
        monotonic: Callable[[], int],
    ) -> None:  # fmt: skip
        self._scope, self._send, self._ask = scope, send, ask
        self._monotonic = monotonic
        self._asked_at = monotonic()
        self._is_over = False

    async def __call__(self, message: Message) -> None:
        if self._is_over:
            return
        if message.get("more_body") or message["type"] == "websocket.send":
            message = await self._asked_again(message)
        await self._send(message)

    async def _asked_again(self, message: Message) -> Message:
        """The message, or the end in its place. A store that is away has no news to give away."""
        now = self._monotonic()
        if now - self._asked_at < KEPT_FOR:
            return message
        self._asked_at = now
        try:
            await self._ask(self._scope)
        except StoreAway:
            return message
        except (KeyNeeded, NotAllowed) as refused:
            self._is_over = True
            return closing(refused) if self._scope["type"] == "websocket" else END
        return message
