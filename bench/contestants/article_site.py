"""Serves article pages on loopback, any of them under any number of URLs, until stdin is closed.

`/article/N` is page N modulo the number of pages, on every address of 127.0.0.0/8.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any, cast

import uvloop

from bench.article_folder import article_pages
from bench.children import contestant

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: keep-alive\r\n"
    b"Content-Length: %d\r\n\r\n"
)
END = b"\r\n\r\n"


class Site(asyncio.Protocol):
    """Reads only what the contestants send: GET requests without a body."""

    answers: tuple[bytes, ...] = ()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._unread = b""

    def data_received(self, data: bytes) -> None:
        *requests, self._unread = (self._unread + data).split(END)
        for request in requests:
            path = request.split(b" ", 2)[1]
            number = int(path.rpartition(b"/")[2])
            self._transport.write(self.answers[number % len(self.answers)])


async def run(folder: str | None) -> dict[str, Any]:
    bodies = article_pages(Path(folder) if folder else None)
    Site.answers = tuple(HEAD % len(body) + body for body in bodies)
    server = await asyncio.get_running_loop().create_server(Site, "0.0.0.0", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.buffer.read)
    server.close()
    return {}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
