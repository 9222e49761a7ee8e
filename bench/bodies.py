"""Processor time of the most hostile bodies that the default limits let through."""

import time

from bench.databases import Databases
from bench.lines import Line
from bench.sizes import Sizes
from curtsy.fetch import Limits
from curtsy.fetch.encodings import Allowance, decode
from curtsy.fetch.fetch_errors import FetchError
from curtsy.fetch.response_parser import Caps, ResponseParser
from support.hostile_bodies import BODIES, STACKED, Body  # type: ignore[import-not-found]

BAR_SECONDS = 1.0
MARGIN = 100
"""What a body may be larger than the size that is asked for."""
READ_BYTES = 64 * 1024


def run(sizes: Sizes, _databases: Databases) -> list[Line]:
    size = sizes.body_bytes - MARGIN
    lines = [_decoded(body, size, sizes.body_bytes) for body in (*BODIES, *STACKED)]
    return [*lines, _chunked(sizes.body_bytes)]


def _decoded(body: Body, size: int, cap: int) -> Line:
    wire = body.make(size)
    began = time.thread_time()
    try:
        plain = decode(body.encoding, wire, cap, Allowance(Limits().decode_seconds))
        end = f"{len(plain):,} bytes"
    except FetchError as error:
        end = f"refused: {error}"
    return _line(f"{body.encoding}: {body.name}", len(wire), end, time.thread_time() - began)


def _chunked(cap: int) -> Line:
    """Chunks of one byte, in pieces as a socket returns them."""
    parser = ResponseParser(Caps(Limits().header_bytes, cap))
    parser.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece, fed = b"1\r\na\r\n" * (READ_BYTES // 6), 0
    began = time.thread_time()
    while not parser.is_done():
        parser.feed(piece)
        fed += len(piece)
    spent = time.thread_time() - began
    return _line("chunked: chunks of one byte", fed, f"refused: {parser.error}", spent)


def _line(what: str, wire_bytes: int, end: str, spent: float) -> Line:
    return Line("bodies", what, f"{wire_bytes:,} bytes", end, spent, BAR_SECONDS,
                at_least=False, unit="s")  # fmt: skip
