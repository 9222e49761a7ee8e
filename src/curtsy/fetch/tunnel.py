"""Opens a CONNECT tunnel through a proxy, before TLS starts."""

import re

from curtsy.fetch.fetch_errors import PROXY_AUTH_REQUIRED, ProxyFailed, TunnelRefused
from curtsy.fetch.proxy import Proxy, authority
from curtsy.fetch.proxy_link import ProxyLink

MOST_HEAD_BYTES = 16 * 1024
_BEGIN = b"HTTP/1."
_STATUS_LINE = re.compile(rb"HTTP/1\.[0-9] ([1-5][0-9]{2})[ \r\n]")
_END = re.compile(rb"\n\r?\n")


async def open_tunnel(link: ProxyLink, proxy: Proxy, host: str, port: int) -> None:
    """Turns a link to the proxy into a connection to the host or address."""
    await link.send(_connect_request(proxy, authority(host, port)))
    head, rest = await _head(link)
    status_line = _STATUS_LINE.match(head)
    if status_line is None:
        raise ProxyFailed("sent what is not HTTP")
    if not status_line[1].startswith(b"2"):
        raise proxy_refusal(int(status_line[1]))
    if rest:  # a host sends nothing before TLS starts
        raise ProxyFailed("sent more than its answer")


def proxy_refusal(status: int) -> TunnelRefused:
    if status == PROXY_AUTH_REQUIRED:
        sentence = "answered 407: it requires a user name and password, or other ones"
        return TunnelRefused(sentence, status)
    return TunnelRefused(f"answered {status}", status)


def _connect_request(proxy: Proxy, target: str) -> bytes:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    return "\r\n".join([*lines, "", ""]).encode()


async def _head(link: ProxyLink) -> tuple[bytes, bytes]:
    received = b""
    while (end := _END.search(received)) is None:
        if len(received) >= MOST_HEAD_BYTES:
            raise ProxyFailed(f"sent more than {MOST_HEAD_BYTES} bytes of headers")
        piece = await link.receive(MOST_HEAD_BYTES - len(received))
        if not piece:
            raise ProxyFailed("closed the connection")
        received += piece
        if not received.startswith(_BEGIN[: len(received)]):
            raise ProxyFailed("sent what is not HTTP")
    return received[: end.end()], received[end.end() :]
