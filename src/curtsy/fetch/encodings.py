"""Decodes a Content-Encoding without ever holding more than the caller's limit."""

import zlib
from collections.abc import Callable

import brotli
import zstandard

from curtsy.fetch.fetch_errors import BadEncoding, TooLarge

GZIP_MAGIC = b"\x1f\x8b"
STEP = 64 * 1024
MAX_MEMBERS = 1_000
MAX_CODINGS = 3
ZSTD_WINDOW = 8 * 2**20
ZSTD_STEP = 256
"""Bytes fed at a time: one byte can expand to 128 KB, all returned at once."""

_GZIP, _ZLIB, _RAW = 31, 15, -15  # how zlib names the three formats


def decode(encoding: str, wire: bytes, cap: int) -> bytes:
    """Returns the decoded body. Raises `TooLarge` above `cap` bytes, or `BadEncoding`.

    `encoding` names the codings in the order in which they were applied.
    """
    names = [name.strip().lower() for name in encoding.split(",")]
    if len(names) > MAX_CODINGS:
        raise BadEncoding(f"it was encoded {len(names)} times")
    for name in reversed(names):
        if not wire:
            return wire
        if (decoder := _DECODERS.get(name)) is None:
            raise BadEncoding(f"its encoding {name[:40]!r} is not one we accept")
        try:
            wire = decoder(wire, cap)
        except (zlib.error, brotli.error, zstandard.ZstdError) as error:
            raise BadEncoding(f"it is not valid {name} ({error})") from None
    return wire


def _identity(wire: bytes, cap: int) -> bytes:
    if len(wire) > cap:
        raise TooLarge(f"its body is larger than {cap} bytes")
    return wire


def _gzip(wire: bytes, cap: int) -> bytes:
    return _inflate(wire, cap, _GZIP)


def _deflate(wire: bytes, cap: int) -> bytes:
    """The standard prescribes a zlib stream; as many servers send a raw deflate stream."""
    wrapped = wire[0] & 0x0F == 8 and int.from_bytes(wire[:2]) % 31 == 0
    return _inflate(wire, cap, _ZLIB if wrapped else _RAW)


def _inflate(wire: bytes, cap: int, wbits: int) -> bytes:
    """Decompresses in small steps, because zlib copies all data after a member's end each time.

    Ignores trailing data that is not a member, as browsers do.
    """
    pieces: list[bytes] = []
    room, at, members = cap, 0, 1
    stream = zlib.decompressobj(wbits)
    while at < len(wire):
        step = wire[at : at + STEP] if len(wire) > STEP else wire[at:]
        pieces.append(stream.decompress(step, room + 1))
        room -= len(pieces[-1])
        if room < 0:
            raise _over(cap)
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


def _brotli(wire: bytes, cap: int) -> bytes:
    """Decompresses in steps, each of which may exceed its limit by at most one block."""
    stream = brotli.Decompressor()
    pieces, room, fed = [], cap, wire
    while not stream.is_finished():
        piece = stream.process(fed, output_buffer_limit=STEP)
        if not (piece or stream.is_finished()) and stream.can_accept_more_data():
            raise BadEncoding("its compressed data ends too early")
        fed = b""
        pieces.append(piece)
        room -= len(piece)
        if room < 0:
            raise _over(cap)
    return b"".join(pieces)


def _zstd(wire: bytes, cap: int) -> bytes:
    """Decompresses frame after frame; refuses windows above 8 MB, which HTTP does not allow."""
    pieces, room, left = [], cap, wire
    while left:
        stream = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()
        for start in range(0, len(left), ZSTD_STEP):
            pieces.append(stream.decompress(left[start : start + ZSTD_STEP]))
            room -= len(pieces[-1])
            if room < 0:
                raise _over(cap)
            if stream.eof:
                left = stream.unused_data + left[start + ZSTD_STEP :]
                break
        else:
            raise BadEncoding("its compressed data ends too early")
        if len(pieces) > MAX_MEMBERS + len(wire) // ZSTD_STEP:
            raise BadEncoding(f"it has more than {MAX_MEMBERS} zstd frames")
    return b"".join(pieces)


def _over(cap: int) -> TooLarge:
    return TooLarge(f"its body is larger than {cap} bytes when decompressed")


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "": _identity,
    "identity": _identity,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
ACCEPT_ENCODING = "gzip, deflate, br, zstd"
