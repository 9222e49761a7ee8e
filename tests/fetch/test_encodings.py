import contextlib
import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.fetch.encodings import MAX_MEMBERS, BadEncoding, TooLarge, decoded

ROOM = 10**6


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_gzip_members_follow_each_other(parts: list[bytes]) -> None:
    wire = b"".join(gzip.compress(part) for part in parts)
    assert decoded("gzip", wire, ROOM) == b"".join(parts)


@given(st.binary(max_size=300), st.sampled_from([15, -15]), st.integers(0, 9))
def test_deflate_is_read_with_and_without_its_frame(body: bytes, wbits: int, level: int) -> None:
    assert decoded("deflate", zlib.compress(body, level, wbits), ROOM) == body


@given(st.binary(min_size=1, max_size=300), st.sampled_from(["gzip", "deflate"]))
def test_any_bytes_are_read_or_refused(wire: bytes, encoding: str) -> None:
    with contextlib.suppress(BadEncoding, TooLarge):
        assert len(decoded(encoding, wire, 1000)) <= 1000


@given(st.integers(0, 200_000), st.integers(0, 200_000))
def test_what_comes_out_never_passes_the_cap(size: int, cap: int) -> None:
    wire = gzip.compress(b"a" * size, 1)
    if size <= cap:
        assert decoded("gzip", wire, cap) == b"a" * size
    else:
        with pytest.raises(TooLarge):
            decoded("gzip", wire, cap)


@pytest.mark.parametrize("rest", [b"\0" * 8, b"\n", b"rubbish"])
def test_what_follows_the_last_member_is_ignored(rest: bytes) -> None:
    assert decoded("gzip", gzip.compress(b"page") + rest, ROOM) == b"page"


def test_a_large_body_is_unpacked_across_steps() -> None:
    body = bytes((n * n) % 251 for n in range(400_000))
    stored = gzip.compress(body[:200_000], 0) + gzip.compress(body[200_000:], 0)
    assert decoded("gzip", stored, ROOM) == body


def test_endless_empty_members_are_refused() -> None:
    with pytest.raises(BadEncoding, match="members"):
        decoded("gzip", gzip.compress(b"") * (MAX_MEMBERS + 1), ROOM)
