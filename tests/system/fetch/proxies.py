"""A small real proxy: absolute targets are asked for, and CONNECT opens a tunnel."""

import asyncio
from base64 import b64encode
from contextlib import suppress
from urllib.parse import urlsplit

from fetch.sites import Script, Serve, Site

LOGIN = "us%C3%A9r:p%40ss:word"
SECRETS = ("p%40ss", "p@ss", b64encode("usér:p@ss:word".encode()).decode())
WANTS_LOGIN = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
"""What it says to everybody without that name and password."""


async def serve_proxy(serve: Serve, *, login: bool = False, address: str = "127.0.0.2") -> Site:
    """Its `url` is what a request has as its proxy, without a user; `requests` are the heads."""
    site = await serve(_proxying(login=login), address=address)
    site.url = f"http://{address}:{site.port}"
    return site


def with_login(proxy: Site, login: str = LOGIN) -> str:
    return proxy.url.replace("http://", f"http://{login}@")


def _proxying(*, login: bool) -> Script:
    async def script(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            head = await site.heard(reader)
            if login and f"\r\nProxy-Authorization: Basic {SECRETS[-1]}\r\n".encode() not in head:
                writer.write(WANTS_LOGIN)
                continue
            method, target, _ = head.partition(b"\r\n")[0].decode().split(" ")
            if method == "CONNECT":
                await _tunnel(target, reader, writer)
                return
            writer.write(await _forwarded(method, target, head))

    return script


async def _tunnel(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    host, _, port = target.rpartition(":")
    far_reader, far_writer = await asyncio.open_connection(host, int(port))
    writer.write(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n")
    ways = [
        asyncio.create_task(_pass_on(reader, far_writer)),
        asyncio.create_task(_pass_on(far_reader, writer)),
    ]
    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    far_writer.close()
    writer.close()
    await asyncio.gather(*ways)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()


async def _forwarded(method: str, target: str, head: bytes) -> bytes:
    """The whole answer, which must have a length."""
    url = urlsplit(target)
    assert url.hostname
    reader, writer = await asyncio.open_connection(url.hostname, url.port or 80)
    lines = [line for line in head.split(b"\r\n")[1:] if not line.startswith(b"Proxy-")]
    path = target.partition(url.netloc)[2]
    writer.write(b"\r\n".join([f"{method} {path} HTTP/1.1".encode(), *lines]))
    answer = await reader.readuntil(b"\r\n\r\n")
    length = int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    answer += await reader.readexactly(length)
    writer.close()
    return answer
