"""The parts of uvicorn that the server leans on although no document of uvicorn's promises them.

Why each is needed is in docs/decisions/0018.
"""

import asyncio
import inspect
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import httptools
import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from api.front import Front
from curtsy.processes.http_server import Connection, Server
from curtsy.processes.websocket_protocol import Socket
from support.patience import PATIENCE

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
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
    "a connection": (HttpToolsProtocol.__init__, ("cycle", "transport", "connections")),
    "a request": (
        RequestResponseCycle.__init__,
        ("more_body", "response_started", "response_complete"),
    ),
    "a WebSocket": (WebSocketsSansIOProtocol.__init__, ("handshake_complete", "transport")),
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
        while not plain_door.desk.feed.followers:
            await asyncio.sleep(0.02)
        client.transport.abort()
        while plain_door.desk.feed.followers:
            await asyncio.sleep(0.02)
