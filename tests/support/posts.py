"""A real site that writes down every request with its body, and answers by a script."""

import asyncio
import socket
import struct
from collections import defaultdict
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Self

HOLD, DROP, RESET, HALF = b"hold", b"drop", b"reset", b"half"
"""Instead of an answer: none for as long as the test likes; the end; a reset; half of one."""


class Heard(NamedTuple):
    method: str
    path: str
    body: bytes
    headers: dict[str, str]
    """By lower-case name."""
    connection: int


def answer(status: str, body: bytes = b"", **headers: str) -> bytes:
    """A whole answer; `retry_after` becomes Retry-After."""
    given = {"Content-Type": "text/plain", "Content-Length": str(len(body))}
    given |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


OK = answer("200 OK", b"done")


class PostSite:
    """Answers each path with its script, one entry after the other and the last for ever; other
    paths with 200."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._address = address
        self.script: dict[str, list[bytes]] = {}
        self.heard: list[Heard] = []
        self.arrived = asyncio.Event()
        """A request has arrived since the last `clear`."""
        self._seen: dict[str, int] = defaultdict(int)
        self._connections = 0
        self._open: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._address, 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def url(self, path: str = "/") -> str:
        return f"http://{self._address}:{self.port}{path}"

    def of(self, method: str) -> list[Heard]:
        return [one for one in self.heard if one.method == method]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        self._connections += 1
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            number = self._connections
            while await self._one(reader, writer, number):
                pass
        writer.transport.abort()

    async def _one(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> bool:
        heard = await _read(reader, number)
        self.heard.append(heard)
        self.arrived.set()
        planned = self.script.get(heard.path, [OK])
        said = planned[min(self._seen[heard.path], len(planned) - 1)]
        self._seen[heard.path] += 1
        if said == HOLD:
            await reader.read()  # until the client gives up
        elif said == RESET:
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif said == HALF:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            await writer.drain()
        elif said != DROP:
            writer.write(said)
            await writer.drain()
            return True
        return False


async def _read(reader: asyncio.StreamReader, number: int) -> Heard:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _version = head[0].split(" ")
    pairs = [line.partition(":") for line in head[1:] if line]
    headers = {name.lower(): value.strip() for name, _colon, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Heard(method, path, body, headers, number)
