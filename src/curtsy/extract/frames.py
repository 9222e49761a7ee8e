"""What parent and child say to each other: a header in JSON and a body of bytes, both measured."""

import socket
import struct
from collections.abc import Mapping
from typing import Any

import orjson

LENGTHS = struct.Struct("!II")
LARGEST_RECORD = 64 * 2**20


def frame(header: Mapping[str, Any], body: bytes = b"") -> bytes:
    said = orjson.dumps(header)
    return b"".join((LENGTHS.pack(len(said), len(body)), said, body))


def receive(channel: socket.socket) -> tuple[dict[str, Any], bytes] | None:
    """The next frame; None when the other side is gone. Blocks."""
    lengths = _exactly(channel, LENGTHS.size)
    if lengths is None:
        return None
    header_length, body_length = LENGTHS.unpack(lengths)
    said, body = _exactly(channel, header_length), _exactly(channel, body_length)
    if said is None or body is None:
        return None
    header: dict[str, Any] = orjson.loads(said)
    return header, bytes(body)


def _exactly(channel: socket.socket, size: int) -> bytearray | None:
    received = bytearray(size)
    view, at = memoryview(received), 0
    while at < size:
        got = channel.recv_into(view[at:])
        if got == 0:
            return None
        at += got
    return received
