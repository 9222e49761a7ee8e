"""WebSockets as uvicorn has them, but for how they are refused and how they end."""

import asyncio
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request
from websockets.server import ServerProtocol

from curtsy.api.middleware.request_limits import refusal
from curtsy.api.middleware.security_headers import with_security_headers


class Socket(WebSocketsSansIOProtocol):
    """A WebSocket of uvicorn whose close frame waits for nobody, and which refuses a wrong
    handshake with a problem document."""

    _is_begun = False

    def data_received(self, data: bytes) -> None:
        """What comes first is the whole head of the handshake."""
        if not self._is_begun:
            self._is_begun = True
            if (wrong := handshake_problem(data)) is not None:
                write_response(self.transport, wrong)
                return
        super().data_received(data)

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.close":
            self.resume_writing()  # uvicorn would wait until the client has collected all before it
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True  # refused with an answer; uvicorn would log an error


def handshake_problem(head: bytes) -> Response | None:
    """Returns a refusal where uvicorn would refuse in plain text; None: the handshake is right."""
    trial = ServerProtocol()
    trial.receive_data(head)
    request = next(iter(trial.events_received()), None)
    status = trial.accept(request).status_code if isinstance(request, Request) else 400
    if status == HTTPStatus.SWITCHING_PROTOCOLS:
        return None
    headers = {"Upgrade": "websocket"} if status == HTTPStatus.UPGRADE_REQUIRED else {}
    sentence = "This is no handshake of a WebSocket (RFC 6455, version 13)."
    return refusal(status, sentence, "bad_http", headers)


def write_response(transport: asyncio.Transport, answer: Response) -> None:
    """Writes a response that no application sends, and closes the connection."""
    status = HTTPStatus(answer.status_code)
    line = f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    headers = with_security_headers(answer.raw_headers)
    head = b"".join(b"%b: %b\r\n" % header for header in headers)
    transport.write(b"%b%b\r\n%b" % (line, head, bytes(answer.body)))
    transport.close()
