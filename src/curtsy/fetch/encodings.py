"""Decodes a Content-Encoding without ever holding more than the caller's limit, and without
spending more processor time than its allowance.

Every decoder is linear in the body's size and stops between two steps of at most 64 KiB of input.
"""

import time
import zlib
from collections.abc import Callable

import brotli
import zstandard

from curtsy.fetch.fetch_errors import BadEncoding, DecodedTooLate, TooLarge

GZIP_MAGIC = b"\x1f\x8b"
STEP = 64 * 1024
MAX_MEMBERS = 1_000
"""Gzip members or zstd frames of one body; block-wise gzip needs 160 for 10 MiB."""
MAX_CODINGS = 3
ZSTD_WINDOW = 8 * 2**20
ZSTD_STEP = 256
"""Bytes fed at a time: one byte can expand to 128 KB, all returned at once."""

_GZIP, _ZLIB, _RAW = 31, 15, -15  # how zlib names the three formats


class TooCostly(BadEncoding):
    """Decoding the body takes more processor time than its allowance."""


class Allowance:
    """What decoding one body may take, all its codings together: processor time of the thread that
    creates the allowance, and a deadline. Small blocks with large code tables cost a
    hundred times the processor time of an ordinary body of the same size."""

    __slots__ = ("_processor_until", "_seconds", "_until")

    def __init__(self, processor_seconds: float, *, until: float = float("inf")) -> None:
        """`until` is a time of `time.monotonic`."""
        self._seconds = processor_seconds
        self._processor_until = time.thread_time() + processor_seconds
        self._until = until

    def check(self) -> None:
        if time.thread_time() > self._processor_until:
            sentence = f"decoding it takes more than {self._seconds:g} s of processor time"
            raise TooCostly(sentence)
        if time.monotonic() > self._until:
            raise DecodedTooLate


def decode(encoding: str, wire: bytes, cap: int, allowance: Allowance) -> bytes:
    """Returns the decoded body. Raises `TooLarge` above `cap` bytes, `BadEncoding`, or
    `DecodedTooLate`.

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
            wire = decoder(wire, cap, allowance)
        except (zlib.error, brotli.error, zstandard.ZstdError) as error:
            raise BadEncoding(f"it is not valid {name} ({error})") from None
    return wire


def identity(wire: bytes, cap: int, _allowance: Allowance | None = None) -> bytes:
    if len(wire) > cap:
        raise TooLarge(f"its body is larger than {cap} bytes")
    return wire


def _gzip(wire: bytes, cap: int, allowance: Allowance) -> bytes:
    return _inflate(wire, cap, allowance, _GZIP)


def _deflate(wire: bytes, cap: int, allowance: Allowance) -> bytes:
    """The standard prescribes a zlib stream; as many servers send a raw deflate stream."""
    wrapped = wire[0] & 0x0F == 8 and int.from_bytes(wire[:2]) % 31 == 0
    return _inflate(wire, cap, allowance, _ZLIB if wrapped else _RAW)


def _inflate(wire: bytes, cap: int, allowance: Allowance, wbits: int) -> bytes:
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
        allowance.check()
    if not stream.eof:
        raise BadEncoding("its compressed data ends too early")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _brotli(wire: bytes, cap: int, allowance: Allowance) -> bytes:
    """Decompresses in steps, each of which may exceed its limit by at most one block. Feeds small
    pieces, because the decoder copies what it has not read after each step."""
    stream = brotli.Decompressor()
    pieces: list[bytes] = []
    room, at = cap, 0
    while not stream.is_finished():
        fed = wire[at : at + STEP] if stream.can_accept_more_data() else b""
        at += len(fed)
        piece = stream.process(fed, output_buffer_limit=STEP)
        if not (piece or fed or stream.is_finished()) and stream.can_accept_more_data():
            raise BadEncoding("its compressed data ends too early")
        pieces.append(piece)
        room -= len(piece)
        if room < 0:
            raise _over(cap)
        allowance.check()
    if at < len(wire):
        raise BadEncoding("more data follows its end")
    return b"".join(pieces)


def _zstd(wire: bytes, cap: int, allowance: Allowance) -> bytes:
    """Decompresses frame after frame; refuses windows above 8 MB, which HTTP does not allow."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    whole = memoryview(wire)
    pieces: list[bytes] = []
    room, at, frames, check_at = cap, 0, 0, 0
    while at < len(whole):
        frames += 1
        if frames > MAX_MEMBERS:
            raise BadEncoding(f"it has more than {MAX_MEMBERS} zstd frames")
        stream = decompressor.decompressobj()
        while not stream.eof:
            fed = whole[at : at + ZSTD_STEP]
            if not fed:
                raise BadEncoding("its compressed data ends too early")
            piece = stream.decompress(fed)
            at += len(fed) - len(stream.unused_data)
            if piece:
                pieces.append(piece)
                room -= len(piece)
            if room < 0:
                raise _over(cap)
            if at >= check_at:
                allowance.check()
                check_at = at + STEP
    return b"".join(pieces)


def _over(cap: int) -> TooLarge:
    return TooLarge(f"its body is larger than {cap} bytes when decompressed")


_DECODERS: dict[str, Callable[[bytes, int, Allowance], bytes]] = {
    "": identity,
    "identity": identity,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
ACCEPT_ENCODING = "gzip, deflate, br, zstd"
