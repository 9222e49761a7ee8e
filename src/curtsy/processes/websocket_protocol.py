"""WebSockets as uvicorn has them, but for how they end."""

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class Socket(WebSocketsSansIOProtocol):
    _uncollected, _collected_at = 0, 0.0

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.close":
            self.writable.set()  # a goodbye goes behind what was not collected; it is the last word
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # refused with an answer; uvicorn would complain

    def close_if_stalled(self, now: float, most_seconds: float) -> None:
        """Called once a second: one that collects nothing for so long is let go."""
        uncollected = self.transport.get_write_buffer_size()
        if uncollected != self._uncollected or not uncollected:
            self._uncollected, self._collected_at = uncollected, now
        elif now >= self._collected_at + most_seconds:
            self.transport.abort()
