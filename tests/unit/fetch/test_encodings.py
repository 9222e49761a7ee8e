import contextlib
import gzip
import time
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from curtsy.fetch.encodings import (
    MAX_MEMBERS,
    Allowance,
    BadEncoding,
    TooCostly,
    TooLarge,
)
from curtsy.fetch.encodings import decode as decode_within
from curtsy.fetch.fetch_errors import DecodedTooLate
from support.hostile_bodies import BODIES, STACKED, Body

ROOM = 10**6
LARGE = 3 * 2**20


def decode(encoding: str, wire: bytes, cap: int) -> bytes:
    return decode_within(encoding, wire, cap, Allowance(60))


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_gzip_members_follow_each_other(parts: list[bytes]) -> None:
    wire = b"".join(gzip.compress(part) for part in parts)
    assert decode("gzip", wire, ROOM) == b"".join(parts)


@given(st.binary(max_size=300), st.sampled_from([15, -15]), st.integers(0, 9))
def test_deflate_is_read_with_and_without_its_frame(body: bytes, wbits: int, level: int) -> None:
    assert decode("deflate", zlib.compress(body, level, wbits), ROOM) == body


_CODINGS = {
    "gzip": lambda body: gzip.compress(body, 1),
    "deflate": lambda body: zlib.compress(body, 1),
    "br": lambda body: brotli.compress(body, quality=1),
    "zstd": zstandard.compress,
}


@given(st.binary(max_size=3000), st.lists(st.sampled_from(sorted(_CODINGS)), max_size=3))
def test_codings_are_undone_in_the_opposite_order(body: bytes, names: list[str]) -> None:
    wire = body
    for name in names:
        wire = _CODINGS[name](wire)
    assert decode(", ".join(names), wire, ROOM) == body


@given(st.lists(st.binary(max_size=3000), min_size=1, max_size=5))
def test_zstd_frames_follow_each_other(parts: list[bytes]) -> None:
    wire = b"".join(zstandard.compress(part) for part in parts)
    assert decode("zstd", wire, ROOM) == b"".join(parts)


def test_a_zstd_window_that_would_take_much_memory_is_refused() -> None:
    wide = zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    wire = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    with pytest.raises(BadEncoding, match="zstd"):
        decode("zstd", wire.compress(b"words" * 9999) + wire.flush(), ROOM)


@given(st.binary(min_size=1, max_size=300), st.sampled_from(sorted(_CODINGS)))
def test_any_bytes_are_read_or_refused(wire: bytes, encoding: str) -> None:
    with contextlib.suppress(BadEncoding, TooLarge):
        assert len(decode(encoding, wire, 1000)) <= 1000


@given(st.integers(0, 200_000), st.integers(0, 200_000), st.sampled_from(sorted(_CODINGS)))
def test_what_comes_out_never_passes_the_cap(size: int, cap: int, name: str) -> None:
    wire = _CODINGS[name](b"a" * size)
    if size <= cap:
        assert decode(name, wire, cap) == b"a" * size
    else:
        with pytest.raises(TooLarge):
            decode(name, wire, cap)


@pytest.mark.parametrize("name", sorted(_CODINGS))
def test_every_cut_is_noticed(name: str) -> None:
    wire = _CODINGS[name](bytes((n * n) % 251 for n in range(3_000)))
    for length in range(1, len(wire)):
        with pytest.raises(BadEncoding):
            decode(name, wire[:length], ROOM)


@pytest.mark.parametrize("rest", [b"\0" * 8, b"\n", b"rubbish"])
def test_what_follows_the_last_member_is_ignored(rest: bytes) -> None:
    assert decode("gzip", gzip.compress(b"page") + rest, ROOM) == b"page"


def test_a_large_body_is_unpacked_across_steps() -> None:
    body = bytes((n * n) % 251 for n in range(400_000))
    stored = gzip.compress(body[:200_000], 0) + gzip.compress(body[200_000:], 0)
    assert decode("gzip", stored, ROOM) == body


def test_endless_empty_members_are_refused() -> None:
    with pytest.raises(BadEncoding, match="members"):
        decode("gzip", gzip.compress(b"") * (MAX_MEMBERS + 1), ROOM)


def test_what_follows_a_brotli_stream_is_refused() -> None:
    for rest in (b"x", b"x" * 100_000):
        with pytest.raises(BadEncoding):
            decode("br", brotli.compress(b"page") + rest, ROOM)


def test_zstd_frames_that_are_skipped_and_empty_ones_are_read() -> None:
    skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    empty = zstandard.compress(b"")
    wire = skipped + zstandard.compress(b"one ") + empty + skipped + zstandard.compress(b"two")
    assert decode("zstd", wire + empty, ROOM) == b"one two"


def test_many_zstd_frames_are_refused() -> None:
    frame = zstandard.compress(b"a")
    assert decode("zstd", frame * MAX_MEMBERS, ROOM) == b"a" * MAX_MEMBERS
    with pytest.raises(BadEncoding, match="more than 1000 zstd frames"):
        decode("zstd", frame * (MAX_MEMBERS + 1), ROOM)


def _named(body: Body) -> str:
    return f"{body.encoding}: {body.name}"


@pytest.mark.parametrize("body", [*BODIES, *STACKED], ids=_named)
def test_no_body_costs_more_than_a_second_of_processor_time(body: Body) -> None:
    """The small form of `python -m bench bodies`, which has bodies of 10 MiB."""
    wire = body.make(LARGE)
    began = time.thread_time()
    with contextlib.suppress(BadEncoding, TooLarge):
        decode_within(body.encoding, wire, LARGE + 100, Allowance(0.8))
    assert time.thread_time() - began < 1


COSTLY = [body for body in (*BODIES, *STACKED) if "tables" in body.name]


@pytest.mark.parametrize("body", COSTLY, ids=_named)
def test_a_costly_body_is_given_up_when_its_processor_time_is_spent(body: Body) -> None:
    """The least of three tries: a busy machine counts its own pauses too."""
    wire = body.make(LARGE)
    took = []
    for _ in range(3):
        began = time.thread_time()
        with pytest.raises(TooCostly, match=r"more than 0\.01 s of processor time"):
            decode_within(body.encoding, wire, LARGE + 100, Allowance(0.01))
        took.append(time.thread_time() - began)
    assert min(took) < 0.1


@pytest.mark.parametrize("body", COSTLY, ids=_named)
def test_a_body_is_given_up_at_the_deadline_of_its_attempt(body: Body) -> None:
    with pytest.raises(DecodedTooLate):
        decode_within(body.encoding, body.make(LARGE), LARGE + 100,
                      Allowance(60, until=time.monotonic()))  # fmt: skip
