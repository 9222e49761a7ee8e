"""The parts of uvicorn that the server leans on although no document of uvicorn's promises them.

Why each is needed is in docs/decisions/0018.
"""

import asyncio
import inspect
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httptools
import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from api.front import Front
from curtsy.config import load
from curtsy.processes.http_server import Connection, Server, listen
from curtsy.processes.websocket_protocol import Socket
from support.patience import PATIENCE

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
METHODS: dict[str, tuple[type, tuple[str, ...]]] = {
    "http": (HttpToolsProtocol, ("shutdown", "send_400_response")),
    "websocket": (WebSocketsSansIOProtocol, ("send",)),
    "server": (uvicorn.Server, ("capture_signals",)),
}
"""Of uvicorn's own, replaced by ours."""
OURS: dict[str, type] = {"http": Connection, "websocket": Socket, "server": Server}
ASYNCIO = {"connection_made", "connection_lost", "data_received", "eof_received"}
HTTPTOOLS = {"on_headers_complete", "on_body"}
"""Promised by asyncio and by httptools; that uvicorn's class has them follows from those."""
READ: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "a connection": (HttpToolsProtocol.__init__, ("cycle", "transport", "connections", "client")),
    "a request": (
        RequestResponseCycle.__init__,
        ("more_body", "response_started", "response_complete"),
    ),
    "a WebSocket": (
        WebSocketsSansIOProtocol.__init__,
        ("handshake_complete", "transport", "client"),
    ),
    "a server": (uvicorn.Server.__init__, ("server_state",)),
    "a server's state": (ServerState.__init__, ("connections",)),
}
"""Attributes that ours reads or sets, and where uvicorn makes them."""


def gone(name: str) -> str:
    return f"uvicorn {version('uvicorn')} has no {name} any more: read docs/decisions/0018."


@pytest.mark.parametrize("which", METHODS)
def test_uvicorn_has_the_methods_that_are_replaced(which: str) -> None:
    theirs, names = METHODS[which]
    for name in names:
        assert callable(getattr(theirs, name, None)), gone(f"{theirs.__name__}.{name}")


@pytest.mark.parametrize("who", READ)
def test_uvicorn_has_the_attributes_that_are_read(who: str) -> None:
    begin, names = READ[who]
    for name in names:
        assert f"self.{name}" in inspect.getsource(begin), gone(f"`{name}` of {who}")


@pytest.mark.parametrize("which", METHODS)
def test_nothing_else_of_uvicorn_is_replaced(which: str) -> None:
    theirs, names = METHODS[which]
    ours = {name for name, value in vars(OURS[which]).items() if callable(value)}
    replaced = {name for name in ours if hasattr(theirs, name)} - set(names)
    assert replaced - ASYNCIO - HTTPTOOLS == set(), "another part of uvicorn is leaned on"


def test_uvicorn_still_lets_httptools_call_its_connection() -> None:
    source = inspect.getsource(HttpToolsProtocol.__init__)
    assert "httptools.HttpRequestParser(self)" in source, gone("connection that httptools calls")
    assert hasattr(httptools, "HttpRequestParser")


def test_uvicorn_is_bounded_to_the_version_that_was_read() -> None:
    needs = tomllib.loads(PYPROJECT.read_text())["project"]["dependencies"]
    major, minor, *_ = version("uvicorn").split(".")
    bounded = f"uvicorn>={major}.{minor},<{major}.{int(minor) + 1}"
    assert bounded in needs, "a new minor version is taken only after its source was read"


async def test_a_stream_with_a_request_behind_it_ends_when_the_client_goes(
    plain_door: Front,
) -> None:
    """uvicorn tells only the last request of a connection that it is lost."""
    ask = "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    host, _, port = plain_door.url.removeprefix("http://").rpartition(":")
    async with asyncio.timeout(PATIENCE):
        _, client = await asyncio.open_connection(host, int(port))
        client.write(ask.format("/events").encode() + ask.format("/health").encode() * 2)
        while not plain_door.backend.feed.followers:
            await asyncio.sleep(0.02)
        client.transport.abort()
        while plain_door.backend.feed.followers:
            await asyncio.sleep(0.02)


async def says_too_much(_scope: Any, _receive: Any, send: Any) -> None:
    """An app that speaks until nothing is collected any more, and then closes, in a hurry."""
    await send({"type": "websocket.accept"})
    with suppress(TimeoutError):
        async with asyncio.timeout(1):
            while True:
                await send({"type": "websocket.send", "bytes": bytes(2**16)})
    with suppress(TimeoutError):
        async with asyncio.timeout(0.1):
            await send({"type": "websocket.close", "code": 1013, "reason": "Too slow."})


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    listening = listen(load(api_port=0))
    server = Server(
        uvicorn.Config(app, http=Connection, ws=Socket, ws_per_message_deflate=False,
                       lifespan="off", log_config=None)
    )  # fmt: skip
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield "ws://{}:{}".format(*listening.getsockname())
    finally:
        server.should_exit = True
        await running


async def test_the_reason_of_a_close_goes_behind_what_was_not_collected() -> None:
    """Were it dropped, a slow client would not know that it may come back."""
    async with (
        asyncio.timeout(PATIENCE),
        served(says_too_much) as url,
        connect(url, max_queue=1, ping_interval=None) as slow,
    ):
        slow.transport.pause_reading()
        await asyncio.sleep(2)
        slow.transport.resume_reading()
        with suppress(ConnectionClosed):
            while await slow.recv():
                pass
    assert (slow.close_code, slow.close_reason) == (1013, "Too slow.")
