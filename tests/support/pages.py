"""A small HTTP server for the test's own pages, on two loopback addresses."""

import asyncio
from collections.abc import Mapping
from typing import Self


class PageServer:
    """Serves each path's bytes as HTML, keeping connections open."""

    def __init__(self, pages: Mapping[str, bytes], content_type: str = "text/html") -> None:
        self._pages, self._content_type = pages, content_type
        self.asked: list[str] = []

    async def __aenter__(self) -> Self:
        self._servers = [await asyncio.start_server(self._serve, "127.0.2.1", 0)]
        self._port = self._servers[0].sockets[0].getsockname()[1]
        self._servers.append(await asyncio.start_server(self._serve, "127.0.2.2", self._port))
        self._open: set[asyncio.StreamWriter] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for writer in tuple(self._open):
            writer.transport.abort()

    def url(self, path: str) -> str:
        return f"http://127.0.2.1:{self._port}{path}"

    def other(self, path: str) -> str:
        """The same page on another host."""
        return f"http://127.0.2.2:{self._port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode()
                self.asked.append(path)
                body = self._pages.get(path)
                status = b"200 OK" if body is not None else b"404 Not Found"
                writer.write(
                    b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
                    % (status, self._content_type.encode(), len(body or b""))
                    + (body or b"")
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()
