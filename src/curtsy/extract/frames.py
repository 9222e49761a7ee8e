"""The wire format between parent and child: a JSON header and a body of bytes, each with its
length in front."""

import socket
import struct
from collections.abc import Mapping
from typing import Any

import orjson

LENGTHS = struct.Struct("!II")
LARGEST_RECORD = 64 * 2**20


def frame(header: Mapping[str, Any], body: bytes = b"") -> bytes:
    return frame_start(header, body) + body


def frame_start(header: Mapping[str, Any], body: bytes) -> bytes:
    """Returns the frame up to the body, for callers that send the body without copying it."""
    encoded = orjson.dumps(header)
    return LENGTHS.pack(len(encoded), len(body)) + encoded


def receive(channel: socket.socket) -> tuple[dict[str, Any], bytes] | None:
    """Returns the next frame, or None when the other side has closed the channel. Blocks."""
    lengths = _receive_exactly(channel, LENGTHS.size)
    if lengths is None:
        return None
    header_length, body_length = LENGTHS.unpack(lengths)
    encoded = _receive_exactly(channel, header_length)
    body = _receive_exactly(channel, body_length)
    if encoded is None or body is None:
        return None
    header: dict[str, Any] = orjson.loads(encoded)
    return header, bytes(body)


def _receive_exactly(channel: socket.socket, size: int) -> bytearray | None:
    received = bytearray(size)
    view, at = memoryview(received), 0
    while at < size:
        got = channel.recv_into(view[at:])
        if got == 0:
            return None
        at += got
    return received
