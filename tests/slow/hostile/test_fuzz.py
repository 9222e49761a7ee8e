"""Mutated answers, headers and URLs: no crash, no hang, nothing but a known outcome."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curtsy.fetch.encodings import Allowance, decode
from curtsy.fetch.failures import failure
from curtsy.fetch.fetch_errors import FetchError
from curtsy.fetch.request import Request, encode
from curtsy.fetch.response_parser import Caps, ResponseParser
from curtsy.model.failure_kinds import RULES
from curtsy.model.outcome import Failed, Moved, NotModified, Reply
from curtsy.model.urls import BadUrl, canonical
from curtsy.politeness.classify import classify
from hostile.test_servers import ROWS

CAPS = Caps(header_bytes=4_000, body_bytes=20_000)
ANSWERS = sorted(row.behaviour for row in ROWS.values() if isinstance(row.behaviour, bytes))
SMALL = [answer for answer in ANSWERS if len(answer) < 3_000]
NOW = 1_767_225_600_000
TROUBLEMAKERS = [b"\r\n", b"\n", b"\0", b":", b" ", b"\r", b"0\r\n\r\n", b"Content-Length: 5\r\n",
                 b"\xff", b"chunked"]  # fmt: skip


def outcome_of(pieces: list[bytes], error: Exception | None) -> object:
    """As the fetcher goes about it: feed, end, decode, classify."""
    incoming = ResponseParser(CAPS)
    for piece in pieces:
        if incoming.is_done():
            break
        incoming.feed(piece)
    if not incoming.is_done():
        incoming.end(error)
    assert incoming.is_done()
    assert len(incoming.body) <= CAPS.body_bytes
    if incoming.error is not None and not incoming.is_error_status:
        return failure(incoming.error, "a.example")
    assert 100 <= incoming.status <= 999
    assert all("\0" not in k + v and "\n" not in k + v for k, v in incoming.headers.items())
    try:
        encoding = incoming.headers.get("content-encoding", "")
        body = decode(encoding, incoming.body, 50_000, Allowance(10))
    except FetchError as error:
        if not incoming.is_error_status:
            return failure(error, "a.example")
        body = b""
    reply = Reply(incoming.status, "http://a.example/", incoming.headers, body, 0)
    return classify(reply, NOW)


def check(outcome: object) -> None:
    assert outcome is None or isinstance(outcome, Failed | Moved | NotModified)
    if isinstance(outcome, Failed):
        assert outcome.kind in RULES
        assert outcome.kind != "internal"
        assert outcome.error.endswith(".")
        assert "\n" not in outcome.error


def mutated(answer: bytes, rng: random.Random) -> bytes:
    body = bytearray(answer)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(body) + 1)
        match rng.randrange(5):
            case 0:
                body[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
            case 1:
                del body[at : at + rng.randint(1, 20)]
            case 2:
                body[at:at] = body[at : at + rng.randint(1, 100)]
            case 3:
                body[at:at] = rng.choice(TROUBLEMAKERS)
            case 4 if body:
                body[at % len(body)] ^= 1 << rng.randrange(8)
    return bytes(body)


def in_pieces(answer: bytes, rng: random.Random) -> list[bytes]:
    pieces, at = [], 0
    while at < len(answer):
        size = rng.choice([1, 3, 20, 200, 5_000])
        pieces.append(answer[at : at + size])
        at += size
    return pieces


@pytest.mark.parametrize("seed", range(20))
def test_mutated_answers_have_a_known_outcome(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        answer = mutated(rng.choice(SMALL), rng)
        error = rng.choice([None, None, ConnectionResetError("reset")])
        check(outcome_of(in_pieces(answer, rng), error))


@pytest.mark.parametrize("answer", ANSWERS)
def test_how_an_answer_is_cut_into_pieces_does_not_matter(answer: bytes) -> None:
    whole = outcome_of([answer], None)
    rng = random.Random(len(answer))
    for _ in range(5):
        assert outcome_of(in_pieces(answer, rng), None) == whole


@settings(max_examples=500)
@given(st.lists(st.binary(max_size=200), max_size=5))
def test_any_bytes_have_a_known_outcome(pieces: list[bytes]) -> None:
    check(outcome_of([b"HTTP/1.1 200 OK\r\n", *pieces], None))
    check(outcome_of(pieces, None))


_CHARACTERS = "htps:/@[]%#?&=.0123456789abcx-_~\\ \t\r\n\0é。①"
_URLISH = st.text(st.sampled_from(list(_CHARACTERS)), max_size=60)


@settings(max_examples=1_000)
@given(_URLISH, st.sampled_from(["", "http://", "https://", "http://a.example", "http://[::1]"]))
def test_a_url_is_refused_or_can_be_sent_safely(text: str, prefix: str) -> None:
    try:
        url = canonical(prefix + text)
    except BadUrl:
        return
    origin, wire = encode(Request(url.text), "")
    lines = wire.split(b"\r\n")
    assert len(lines) == 4, "a request line, a Host line, an empty one"
    assert lines[0].count(b" ") == 2
    assert all(0x20 < byte < 0x7F for byte in lines[0].replace(b" ", b""))
    assert canonical(url.text) == url
    assert origin.host
    assert 0 <= origin.port <= 65_535


@settings(max_examples=500)
@given(st.text(max_size=80))
def test_any_location_is_followed_or_refused(location: str) -> None:
    reply = Reply(302, "http://a.example/b", {"location": location}, b"", 0)
    outcome = classify(reply, NOW)
    assert isinstance(outcome, Moved | Failed)
    if isinstance(outcome, Moved):
        encode(Request(outcome.url), "")
