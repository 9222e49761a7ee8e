"""The HTTP server, on a socket of ours and deaf to signals: the process hears those."""

import asyncio
import math
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from curtsy.api import create_app
from curtsy.api.auth.access_rules import AccessRules
from curtsy.api.backend import Backend
from curtsy.api.middleware.request_limits import MAX_HEAD_BYTES, HeadLimits, head_too_long, refusal
from curtsy.config import Settings
from curtsy.errors import BadSetting
from curtsy.logs import logger
from curtsy.processes.access_rules import is_private
from curtsy.processes.websocket_protocol import Socket

log = logger("app")

GRACE_SECONDS = 10
MOST_SAID_BYTES = 64 * 2**10
"""By a client on a WebSocket, at once: nobody listens to it."""
HEAD_SECONDS = 10.0
"""For a head to come whole, from the connection's beginning or the end of the last answer."""
STALL_SECONDS = 30.0
"""For which a client may collect nothing of its answer."""
MOST_PIPELINED = 100
"""Requests that may wait for the answer of the first one on their connection."""
MOST_CONNECTIONS = 20_000
FILES_FOR_THE_REST = 1024


def most_connections() -> int:
    """So many that the process has files left for everything else; of few files, half."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, files - min(FILES_FOR_THE_REST, files // 2))


class _Connection(HttpToolsProtocol):
    """As uvicorn has it, with bounds for what a client leaves open or unread, or sends at once."""

    _deadline = math.inf
    """When the next head must have come; none while a request is answered."""
    _unused_bytes = 0
    """What came since the last whole head or piece of a body."""
    _uncollected, _collected_at = 0, 0.0
    _answering: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.time() + HEAD_SECONDS
        if len(self.connections) > most_connections():
            sentence = "Too many connections are open: try again."
            self._refuse(refusal(503, sentence, "busy", {"Retry-After": f"{HEAD_SECONDS:g}"}))

    def connection_lost(self, exc: Exception | None) -> None:
        """uvicorn tells only the last of several pipelined requests."""
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """One that has said all may still wait for its answer; if it hears it already, it left."""
        waits = self.cycle is not None and not (self.cycle.more_body or self.cycle.response_started)
        if waits:
            self.cycle.keep_alive = False
        return waits

    def data_received(self, data: bytes) -> None:
        self._unused_bytes += len(data)
        super().data_received(data)
        if self._unused_bytes > MAX_HEAD_BYTES:
            self._refuse(head_too_long())

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MOST_PIPELINED:
            sentence = f"More than {MOST_PIPELINED} requests came before the first was answered."
            self._refuse(refusal(400, sentence, "too_many_at_once"))
            raise ConnectionAbortedError(sentence)
        self._unused_bytes = 0
        self._deadline = math.inf
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unused_bytes = 0
        super().on_body(body)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        if not self.pipeline:
            self._deadline = self.loop.time() + HEAD_SECONDS
        super().on_response_complete()

    def shutdown(self) -> None:
        """A request that has not come whole is not waited for: nothing of it is acknowledged."""
        if self._answering is not None and self._answering.more_body:
            self.transport.close()
        else:
            super().shutdown()

    def send_400_response(self, _msg: str) -> None:
        self._refuse(refusal(400, "This is no request in HTTP/1.1.", "bad_http"))

    def close_if_overdue(self, now: float) -> None:
        """Called once a second."""
        uncollected = self.transport.get_write_buffer_size()
        if uncollected != self._uncollected:
            self._uncollected, self._collected_at = uncollected, now
        deadline = self._collected_at + STALL_SECONDS if uncollected else self._deadline
        if now < deadline:
            return
        if self._unused_bytes and not uncollected:
            sentence = f"The head did not come within {HEAD_SECONDS:g} seconds."
            self._refuse(refusal(408, sentence, "too_slow"))
        else:
            self.transport.abort()

    def _refuse(self, answer: Response) -> None:
        if self.transport.is_closing():
            return
        head = b"".join(b"%b: %b\r\n" % header for header in answer.raw_headers)
        self.transport.write(
            b"%b%b\r\n%b" % (STATUS_LINE[answer.status_code], head, bytes(answer.body))
        )
        self.transport.close()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, _Connection):
                    connection.close_if_overdue(now)
                elif isinstance(connection, Socket):
                    connection.close_if_stalled(now, STALL_SECONDS)
        return await super().on_tick(counter)


class Api:
    def __init__(
        self, backend: Backend, listening: socket.socket, access_rules: AccessRules | None = None
    ) -> None:
        access_rules = access_rules or AccessRules(is_private=is_private(listening))
        self._listening = listening
        self._app = create_app(backend, access_rules)
        self._ended = asyncio.Event()
        self._server = _Server(
            uvicorn.Config(
                HeadLimits(self._app), http=_Connection, log_config=None,
                log_level="error", access_log=False, lifespan="off", server_header=False,
                ws=Socket, ws_max_size=MOST_SAID_BYTES, ws_per_message_deflate=False,
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
        """Answer what came in, accept nothing more. Streams have no end of their own."""
        self._app.state.stopping.set()
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
        reason = os.strerror(error.errno) if error.errno else str(error)
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
