"""WebSockets as uvicorn has them, but for how they end."""

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class Socket(WebSocketsSansIOProtocol):
    """A WebSocket of uvicorn whose close frame waits for nobody."""

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.close":
            self.resume_writing()  # uvicorn would wait until the client has collected all before it
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True  # refused with an answer; uvicorn would log an error
