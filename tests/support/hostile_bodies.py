"""Bodies that cost a decoder the most for their size, one for each trick of each encoding."""

import gzip
import random
from collections.abc import Callable
from typing import NamedTuple

import brotli
import zstandard

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Body(NamedTuple):
    name: str
    encoding: str
    make: Callable[[int], bytes]
    """Returns a body of about this many bytes."""


class _Bits:
    """Bits as deflate and brotli write them: the lowest of a byte first."""

    def __init__(self) -> None:
        self.value = self.count = 0

    def write(self, *pairs: tuple[int, int]) -> None:
        for value, count in pairs:
            self.value |= value << self.count
            self.count += count

    def repeated(self, size: int) -> bytes:
        """These bits again and again, to about so many bytes; ends on a whole byte."""
        eight = sum(self.value << (self.count * i) for i in range(8))
        return _filled(eight.to_bytes(self.count, "little"), size)


def _filled(unit: bytes, size: int) -> bytes:
    return unit * max(1, size // len(unit))


def _noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)


# Deflate.

DEFLATE_END = b"\x01\0\0\xff\xff"


def _dynamic_blocks(size: int) -> bytes:
    """Blocks of no bytes, each with a code table of its own, in 91 bits."""
    bits = _Bits()
    bits.write((0, 1), (2, 2), (0, 5), (0, 5), (14, 4))  # dynamic; 257 + 1 codes in 18 lengths
    for symbol in (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1):
        bits.write((int(symbol in (18, 1)), 3))
    bits.write((0, 1), (1, 1), (127, 7), (1, 1), (106, 7), (0, 1), (0, 1), (1, 1))
    return bits.repeated(size) + DEFLATE_END


def _fixed_blocks(size: int) -> bytes:
    bits = _Bits()
    bits.write((0, 1), (1, 2), (0, 7))
    return bits.repeated(size) + DEFLATE_END


def _stored_blocks(size: int) -> bytes:
    return _filled(b"\0\0\0\xff\xff", size) + DEFLATE_END


def _gzip_wrapped(deflated: bytes) -> bytes:
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + deflated + bytes(8)


def _zlib_wrapped(deflated: bytes) -> bytes:
    return b"\x78\x01" + deflated + b"\0\0\0\x01"


# Brotli.


def _brotli_blocks(size: int) -> bytes:
    """Meta-blocks of one byte, each with three code tables of its own, in 69 bits."""
    bits = _Bits()
    bits.write((0, 1), (0, 2), (0, 16), (0, 1))  # not the last, 16 bits of length, compressed
    bits.write((0, 1), (0, 1), (0, 1), (0, 2), (0, 4), (0, 2), (0, 1), (0, 1))
    for symbol, width in ((97, 8), (8, 10), (0, 6)):  # one symbol each: a literal; insert one
        bits.write((1, 2), (0, 2), (symbol, width))
    begin = _Bits()
    begin.write((0, 1))  # a window of 16 bits
    whole = begin.value | int.from_bytes(bits.repeated(size), "little") << begin.count
    count = begin.count + 8 * len(bits.repeated(size))
    return (whole | 3 << count).to_bytes(count // 8 + 1, "little")  # the last one, empty


# Zstandard.


def _zstd_frame(content: bytes) -> bytes:
    block = (len(content) << 3 | 1).to_bytes(3, "little")
    return ZSTD_MAGIC + b"\x20" + bytes([len(content)]) + block + content


def _zstd_blocks(block: bytes, size: int) -> bytes:
    """One frame of equal blocks; the first has sixteen bytes, which later ones can copy."""
    first = (16 << 3).to_bytes(3, "little") + b"sixteen letters."
    return ZSTD_MAGIC + b"\0\x58" + first + _filled(block, size) + b"\x01\0\0"


def _zstd_tables() -> bytes:
    """A block of three bytes with three large code tables of its own, in 16 bytes."""
    literals, sequences, modes = b"\0", b"\x01", b"\xa8"
    nine = (4 | 1022 << 4 | 3 << 14).to_bytes(2, "little")
    eight = (3 | 510 << 4 | 3 << 13).to_bytes(2, "little")
    states = (1 << 26).to_bytes(4, "little")
    content = literals + sequences + modes + nine + eight + nine + states
    return (len(content) << 3 | 2 << 1).to_bytes(3, "little") + content


def _skippable(size: int) -> bytes:
    return b"\x50\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size)


def _members(size: int) -> bytes:
    return gzip.compress(_noise(size // 999 - 30), 0) * 999


def _frames(size: int) -> bytes:
    return (_zstd_frame(b"a" * 200) + _skippable(size // 499 - 220)) * 499


BODIES = (
    Body("noise", "identity", _noise),
    Body("noise", "gzip", lambda size: gzip.compress(_noise(size - 4_000), 1)),
    Body("zeros, decoded", "gzip", lambda size: gzip.compress(bytes(size))),
    Body("empty members", "gzip", lambda size: _filled(gzip.compress(b""), size)),
    Body("999 members", "gzip", _members),
    Body("empty blocks with tables", "gzip", lambda size: _gzip_wrapped(_dynamic_blocks(size))),
    Body("empty stored blocks", "deflate", _stored_blocks),
    Body("empty fixed blocks", "deflate", _fixed_blocks),
    Body("empty blocks with tables, raw", "deflate", _dynamic_blocks),
    Body("empty blocks with tables, zlib", "deflate", lambda n: _zlib_wrapped(_dynamic_blocks(n))),
    Body("noise", "br", lambda size: brotli.compress(_noise(size - 4_000), quality=0)),
    Body("zeros, decoded", "br", lambda size: brotli.compress(bytes(size), quality=5)),
    Body("empty metadata", "br", lambda size: b"\x0c" + _filled(b"\x06", size)),
    Body("blocks of one byte with tables", "br", _brotli_blocks),
    Body("noise", "zstd", lambda size: zstandard.compress(_noise(size - 4_000), 1)),
    Body("zeros, decoded", "zstd", lambda size: zstandard.compress(bytes(size))),
    Body("empty frames", "zstd", lambda size: _filled(_zstd_frame(b""), size)),
    Body("frames of one byte", "zstd", lambda size: _filled(_zstd_frame(b"a"), size)),
    Body("998 frames", "zstd", _frames),
    Body("empty skippable frames", "zstd", lambda size: _filled(_skippable(0), size)),
    Body("empty blocks", "zstd", lambda size: _zstd_blocks(b"\0\0\0", size)),
    Body("blocks of one repeated byte", "zstd", lambda size: _zstd_blocks(b"\x0a\0\0a", size)),
    Body("blocks of 128 KB of one byte", "zstd", lambda size: _zstd_blocks(b"\x02\0\x10a", size)),
    Body("blocks with tables", "zstd", lambda size: _zstd_blocks(_zstd_tables(), size)),
)


def _twice_packed(body: Body) -> Body:
    def make(size: int) -> bytes:
        return gzip.compress(zstandard.compress(body.make(size), 1), 1)

    return Body(f"{body.name}, packed twice more", f"{body.encoding}, zstd, gzip", make)


STACKED = tuple(_twice_packed(body) for body in BODIES if "tables" in body.name)
"""A few hundred bytes on the wire: the outer codings shrink what the inner one makes costly."""
