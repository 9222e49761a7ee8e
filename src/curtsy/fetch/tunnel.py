"""A way through a proxy to one origin, asked for before TLS begins."""

import asyncio
import re
import socket

from curtsy.fetch.errors import ProxyFailed
from curtsy.fetch.proxy import Proxy, authority

MOST_HEAD_BYTES = 16 * 1024
WANTS_LOGIN = 407
_BEGIN = b"HTTP/1."
_STATUS_LINE = re.compile(rb"HTTP/1\.[0-9] ([1-5][0-9]{2})[ \r\n]")
_END = re.compile(rb"\n\r?\n")


async def open_tunnel(sock: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    """Afterwards what is written to the socket arrives at the host."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, _question(proxy, authority(host, port)))
    head, rest = await _head(loop, sock)
    said = _STATUS_LINE.match(head)
    if said is None:
        raise ProxyFailed("sent what is not HTTP")
    if not said[1].startswith(b"2"):
        raise refused(int(said[1]))
    if rest:  # a host says nothing until TLS begins
        raise ProxyFailed("sent more than its answer")


def refused(status: int) -> ProxyFailed:
    if status == WANTS_LOGIN:
        return ProxyFailed("answered 407: it wants a user name and password, or others")
    return ProxyFailed(f"answered {status}")


def _question(proxy: Proxy, target: str) -> bytes:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    return "\r\n".join([*lines, "", ""]).encode()


async def _head(loop: asyncio.AbstractEventLoop, sock: socket.socket) -> tuple[bytes, bytes]:
    heard = b""
    while (end := _END.search(heard)) is None:
        if len(heard) >= MOST_HEAD_BYTES:
            raise ProxyFailed(f"sent more than {MOST_HEAD_BYTES} bytes of headers")
        piece = await loop.sock_recv(sock, MOST_HEAD_BYTES - len(heard))
        if not piece:
            raise ProxyFailed("broke the connection off")
        heard += piece
        if not heard.startswith(_BEGIN[: len(heard)]):
            raise ProxyFailed("sent what is not HTTP")
    return heard[: end.end()], heard[end.end() :]
