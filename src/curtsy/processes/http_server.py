"""The HTTP server: uvicorn on a socket of ours, with bounds for clients that misbehave.

What is changed of uvicorn, and what each change protects from, is in docs/decisions/0018.
"""

import asyncio
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from curtsy import periodic
from curtsy.api import create_app
from curtsy.api.auth.access_rules import AccessRules
from curtsy.api.auth.direct_request import is_loopback
from curtsy.api.backend import Backend
from curtsy.api.middleware.request_limits import MAX_HEAD_BYTES, HeadLimits, head_too_long, refusal
from curtsy.api.middleware.security_headers import SecurityHeaders
from curtsy.config import Settings
from curtsy.errors import BadSetting, OverLimit
from curtsy.logs import logger
from curtsy.processes.api_access import is_private
from curtsy.processes.websocket_protocol import Socket, write_response

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
LOOK_SECONDS = 1.0
"""Between two looks for clients that are late."""


def most_connections() -> int:
    """So many that the process has files left for everything else; of few files, half."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, files - min(FILES_FOR_THE_REST, files // 2))


class Connection(HttpToolsProtocol):
    """A connection of uvicorn that bounds what a client leaves open or sends at once.

    asyncio calls the methods from `connection_made` to `eof_received`, httptools those that begin
    with `on_`. Of uvicorn's own methods two are replaced: `shutdown` and `send_400_response`.
    """

    _waits_since = 0.0
    """When the server began to wait for the next head."""
    _unused_bytes = 0
    """What came since the last whole head or piece of a body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._requests: list[RequestResponseCycle] = []
        self._waits_since = asyncio.get_running_loop().time()
        most, retry = most_connections(), {"Retry-After": f"{HEAD_SECONDS:g}"}
        if len(self.connections) > most:
            self._refuse(refusal(503, "Too many connections are open: try again.", "busy", retry))
        elif self._has_too_many(most // 2):
            sentence = "Too many connections from your address are open: close some, and try again."
            self._refuse(refusal(429, sentence, OverLimit.code, retry))

    def connection_lost(self, exc: Exception | None) -> None:
        """uvicorn tells the request in `cycle`, the last that came; the first is being answered."""
        if unanswered := self._unanswered():
            self.cycle = unanswered[0]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unused_bytes += len(data)
        super().data_received(data)
        if self._unused_bytes > MAX_HEAD_BYTES:
            self._refuse(head_too_long())

    def eof_received(self) -> bool:  # type: ignore[override]
        """True keeps the connection for a client that has sent all and waits for its answer.

        One that stops in the middle of a request or of an answer has left.
        """
        unanswered = self._unanswered()
        if not unanswered or unanswered[-1].more_body or unanswered[-1].response_started:
            return False
        super().shutdown()  # uvicorn closes the connection behind the last answer
        return True

    def on_headers_complete(self) -> None:
        unanswered = self._unanswered()
        if len(unanswered) > MOST_PIPELINED:
            sentence = f"More than {MOST_PIPELINED} requests came before the first was answered."
            self._refuse(refusal(400, sentence, "too_many_at_once"))
            raise ConnectionAbortedError(sentence)
        self._unused_bytes = 0
        self._waits_since = asyncio.get_running_loop().time()
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:  # as it is where a WebSocket begins
            unanswered.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        self._unused_bytes = 0
        super().on_body(body)

    def shutdown(self) -> None:
        """A request that has not come whole is not waited for: nothing of it is acknowledged."""
        unanswered = self._unanswered()
        if unanswered and unanswered[0].more_body:
            self.transport.close()
        else:
            super().shutdown()

    def send_400_response(self, _msg: str) -> None:
        self._refuse(refusal(400, "This is no request in HTTP/1.1.", "bad_http"))

    def close_if_late(self, now: float) -> None:
        """Close the connection if it has waited too long for a head; called once a second."""
        if self._unanswered() or self.transport.get_write_buffer_size():
            self._waits_since = now
        elif now < self._waits_since + HEAD_SECONDS:
            pass
        elif self._unused_bytes:
            sentence = f"The head did not come within {HEAD_SECONDS:g} seconds."
            self._refuse(refusal(408, sentence, "too_slow"))
        else:
            self.transport.abort()

    def _has_too_many(self, most: int) -> bool:
        """Whether the client's address holds more than this. The connections are only counted when
        there are so many; a proxy on this machine speaks for everyone."""
        if len(self.connections) <= most or self.client is None or is_loopback(self.client[0]):
            return False
        ours = [one for one in self.connections if isinstance(one, Connection | Socket)]
        return (
            sum(one.client is not None and one.client[0] == self.client[0] for one in ours) > most
        )

    def _unanswered(self) -> list[RequestResponseCycle]:
        """The request that is being answered, and those that came after it."""
        while self._requests and self._requests[0].response_complete:
            del self._requests[0]
        return self._requests

    def _refuse(self, answer: Response) -> None:
        if not self.transport.is_closing():
            write_response(self.transport, answer)


class Server(uvicorn.Server):
    """uvicorn's server, which leaves signals to the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Api:
    def __init__(
        self, backend: Backend, listening: socket.socket, access_rules: AccessRules | None = None
    ) -> None:
        access_rules = access_rules or AccessRules(is_private=is_private(listening))
        self._listening = listening
        self._app = create_app(backend, access_rules)
        self._ended = asyncio.Event()
        self._uncollected: dict[asyncio.Transport, tuple[int, float]] = {}
        self._server = Server(
            uvicorn.Config(
                SecurityHeaders(HeadLimits(self._app)), http=Connection, log_config=None,
                log_level="error", access_log=False, lifespan="off", server_header=False,
                ws=Socket, ws_max_size=MOST_SAID_BYTES, ws_per_message_deflate=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )  # fmt: skip

    async def run(self) -> None:
        log.info("api_started", url=url_of(self._listening))
        closing = asyncio.create_task(
            periodic.run("late_connections", self._close_late_connections)
        )
        try:
            await self._server.serve(sockets=[self._listening])
        finally:
            closing.cancel()
            self._ended.set()
        log.info("api_stopped")

    async def stop(self) -> None:
        """Answer what came in, accept nothing more. Streams have no end of their own."""
        self._app.state.stopping.set()
        self._server.should_exit = True
        await self._ended.wait()

    async def _close_late_connections(self) -> float:
        """Close those that collect nothing, or send no head in time; called once a second."""
        now = asyncio.get_running_loop().time()
        before, self._uncollected = self._uncollected, {}
        for connection in list(self._server.server_state.connections):
            transport = connection.transport
            if size := transport.get_write_buffer_size():
                last, since = before.get(transport, (0, now))
                self._uncollected[transport] = size, since if size == last else now
                if size == last and now >= since + STALL_SECONDS:
                    transport.abort()
                    continue
            if isinstance(connection, Connection):
                connection.close_if_late(now)
        return LOOK_SECONDS


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
