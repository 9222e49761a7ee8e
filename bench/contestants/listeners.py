"""Many WebSockets that only receive, read as cheaply as Python can: they must not be the limit.

Says "ready" once all are open, hears until its stdin is closed, then tells how long each message
had been on its way. Every client gets the same bytes, so each text is parsed only once.
"""

import selectors
import socket
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import orjson

from bench.children import contestant

ASKING = (
    b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
TEXT, PING, PONG = 0x81, 0x89, b"\x8a\x80\0\0\0\0"
ROOM = 2**18


class Client:
    """One connection and its buffer of an incomplete message."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.sendall(ASKING % path.encode())
        head = self._rest = b""
        while b"\r\n\r\n" not in head:
            piece = self.socket.recv(ROOM)
            if not piece:
                break
            head += piece
        if b" 101 " not in head:
            raise ConnectionError(head.decode())
        self._rest = head.partition(b"\r\n\r\n")[2]
        self.socket.setblocking(False)

    def hear(self) -> Iterator[bytes]:
        """The received messages; a closed connection is an error."""
        data = self._rest + self.socket.recv(ROOM)
        if len(data) == len(self._rest):
            raise ConnectionError("The server hung up.")
        begin = 0
        while (frame := _frame(data, begin)) is not None:
            kind, start, begin = frame
            if kind == TEXT:
                yield data[start:begin]
            elif kind == PING:
                self.socket.send(_pong(data[start:begin]))
            else:
                raise ConnectionError(f"The server closed the connection: {data[start:begin]!r}")
        self._rest = data[begin:]


def _frame(data: bytes, at: int) -> tuple[int, int, int] | None:
    """The message's kind, and where its text begins and ends; None: it is incomplete."""
    start = at + 2
    if len(data) < start:
        return None
    size = data[at + 1]
    if size == 126:
        start += 2
        size = int.from_bytes(data[at + 2 : start], "big")
    elif size == 127:
        start += 8
        size = int.from_bytes(data[at + 2 : start], "big")
    return (data[at], start, start + size) if len(data) >= start + size else None


def _pong(payload: bytes) -> bytes:
    """Masked, as a client must, with a mask of zeros."""
    return bytes((0x8A, 0x80 | len(payload))) + bytes(4) + payload


class Heard:
    """The delays of the counted events, in milliseconds."""

    def __init__(self, event: str) -> None:
        self._event = event.encode()
        self._at: dict[bytes, float | None] = {}
        self.delays: list[float] = []
        self.messages = 0

    def note(self, message: bytes, now: float) -> None:
        self.messages += 1
        if message not in self._at:
            self._at[message] = self._moment(message)
        at = self._at[message]
        if at is not None:
            self.delays.append(now - at)

    def _moment(self, message: bytes) -> float | None:
        found = orjson.loads(message)
        if found["event"] != self._event.decode():
            return None
        return datetime.fromisoformat(found["at"]).timestamp() * 1000


def measure(port: int, path: str, number: int, event: str) -> dict[str, Any]:
    heard = Heard(event)
    with selectors.DefaultSelector() as waiting:
        for _ in range(number):
            client = Client(port, path)
            waiting.register(client.socket, selectors.EVENT_READ, client)
        waiting.register(sys.stdin.buffer, selectors.EVENT_READ)
        print("ready", flush=True)
        began = time.process_time()
        while True:
            for key, _ in waiting.select():
                if key.data is None:
                    spent = time.process_time() - began
                    return {"delays": heard.delays, "messages": heard.messages, "cpu": spent}
                for message in key.data.hear():
                    heard.note(message, time.time() * 1000)


if __name__ == "__main__":
    contestant(measure)
