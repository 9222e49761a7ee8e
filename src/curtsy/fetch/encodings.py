"""Undo a Content-Encoding without ever holding more than the caller has room for."""

import zlib
from collections.abc import Callable

from curtsy.fetch.trouble import BadEncoding, TooLarge

GZIP_MAGIC = b"\x1f\x8b"
STEP = 64 * 1024
MAX_MEMBERS = 1_000

_GZIP, _ZLIB, _RAW = 31, 15, -15  # how zlib names the three formats


def decoded(encoding: str, wire: bytes, cap: int) -> bytes:
    """The body as it was before it was compressed, at most `cap` bytes of it."""
    if not wire:
        return wire
    name = encoding.strip().lower()
    if (decode := _DECODERS.get(name)) is None:
        raise BadEncoding(f"its encoding {name!r} is not one we asked for")
    try:
        return decode(wire, cap)
    except zlib.error as error:
        raise BadEncoding(f"it is not valid {name} ({error})") from None


def _identity(wire: bytes, cap: int) -> bytes:
    if len(wire) > cap:
        raise TooLarge(f"its body is larger than {cap} bytes")
    return wire


def _gzip(wire: bytes, cap: int) -> bytes:
    return _inflate(wire, cap, _GZIP)


def _deflate(wire: bytes, cap: int) -> bytes:
    """The standard means a zlib stream; servers that send a bare one are as common."""
    wrapped = wire[0] & 0x0F == 8 and int.from_bytes(wire[:2]) % 31 == 0
    return _inflate(wire, cap, _ZLIB if wrapped else _RAW)


def _inflate(wire: bytes, cap: int, wbits: int) -> bytes:
    """In small steps: zlib copies what follows a member's end, each time.

    What follows the last member and is no member is ignored, as browsers do.
    """
    pieces: list[bytes] = []
    room, at, members = cap, 0, 1
    stream = zlib.decompressobj(wbits)
    while at < len(wire):
        step = wire[at : at + STEP] if len(wire) > STEP else wire[at:]
        pieces.append(stream.decompress(step, room + 1))
        room -= len(pieces[-1])
        if room < 0:
            raise TooLarge(f"its body is larger than {cap} bytes when decompressed")
        at += len(step) - len(stream.unused_data)
        if stream.eof:
            if wbits != _GZIP or not wire.startswith(GZIP_MAGIC, at):
                break
            members += 1
            if members > MAX_MEMBERS:
                raise BadEncoding(f"it has more than {MAX_MEMBERS} gzip members")
            stream = zlib.decompressobj(wbits)
    if not stream.eof:
        raise BadEncoding("its compressed data ends too early")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "": _identity,
    "identity": _identity,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
}
ACCEPT_ENCODING = "gzip, deflate"
