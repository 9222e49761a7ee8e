"""The HTTP server, on a socket of ours and deaf to signals: the process hears those."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from curtsy.api import create_app
from curtsy.api.desk import Desk
from curtsy.config import Settings
from curtsy.errors import BadSetting
from curtsy.logs import logger

log = logger("app")

GRACE_SECONDS = 10
MOST_SAID_BYTES = 64 * 2**10
"""By a client on a WebSocket, at once: nobody listens to it."""


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Api:
    def __init__(self, desk: Desk, listening: socket.socket) -> None:
        self._listening = listening
        self._ended = asyncio.Event()
        self._server = _Server(
            uvicorn.Config(
                create_app(desk), log_config=None, log_level="warning", access_log=False,
                lifespan="off", server_header=False, ws="websockets-sansio",
                ws_max_size=MOST_SAID_BYTES, ws_per_message_deflate=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )  # fmt: skip

    async def run(self) -> None:
        log.info("api_started", url=url_of(self._listening))
        try:
            await self._server.serve(sockets=[self._listening])
        finally:
            self._ended.set()
        log.info("api_stopped")

    async def stop(self) -> None:
        """Answer what came in, accept nothing more."""
        self._server.should_exit = True
        await self._ended.wait()


def listen(settings: Settings) -> socket.socket:
    """A listening socket; port 0 takes any free one."""
    host, port = settings.api_host, settings.api_port
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(
            (str(address[0]), int(address[1])), family=family, backlog=2048
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadSetting(
            f"The API cannot listen on {host} port {port} ({reason}): "
            "set CURTSY_API_HOST or CURTSY_API_PORT to another."
        ) from None
    # inherited by every connection; asyncio sets it only on sockets that it made itself
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
