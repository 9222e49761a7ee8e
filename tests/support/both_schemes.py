"""A server that speaks http and https on one port, so that only the scheme tells them apart."""

import asyncio
import socket
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

CERTIFICATE = Path(__file__).parents[1] / "system/fetch/self_signed.pem"
"""For 127.0.0.1."""


@dataclass
class BothSchemes:
    answers: dict[str, str] = field(default_factory=dict)
    """By scheme and path (`https:/a`): a text, or a place to go to after `-> `."""
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Scheme, host and path of each request (`https://127.0.0.1/a`), and its headers."""

    async def __aenter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(CERTIFICATE)
        self._tasks: set[asyncio.Task[None]] = {asyncio.create_task(self._accept())}
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._listener.close()

    def url(self, scheme: str, path: str, host: str = "127.0.0.1") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def sent_with(self, header: str) -> dict[str, str | None]:
        """What each request said in this header, by the request."""
        return {place: headers.get(header) for place, headers in self.asked}

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(self._listener)
            self._tasks.add(asyncio.create_task(self._serve(connection)))

    async def _serve(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                first = connection.recv(1, socket.MSG_PEEK)
                break
            except BlockingIOError:
                await asyncio.sleep(0.002)
        tls = self._tls if first == b"\x16" else None  # the first byte of a TLS handshake
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=tls)
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            await self._answer(reader, writer, "https" if tls else "http")
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, scheme: str
    ) -> None:
        while True:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            path = first.split(" ")[1]
            headers = dict(line.split(": ", 1) for line in lines if line)
            host = headers["Host"].partition(":")[0]
            self.asked.append((f"{scheme}://{host}{path}", headers))
            answer = self.answers.get(f"{scheme}:{path}", "page")
            to = answer.removeprefix("-> ")
            status = f"302 Found\r\nLocation: {to}" if to != answer else "200 OK"
            body = answer.encode()
            writer.write(f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: "
                         f"{len(body)}\r\n\r\n".encode() + body)  # fmt: skip
