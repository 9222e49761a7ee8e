"""What a single request may have its own way: its name, its headers, its time."""

import asyncio
from contextlib import suppress

import pytest

from curtsy.fetch import Request
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Reply
from fetch.sites import Script, Serve, Site, get, page

Headers = tuple[tuple[str, str], ...]


def lines_named(name: bytes, site: Site) -> list[bytes]:
    lines = site.requests[-1].split(b"\r\n")
    return [line for line in lines if line.lower().startswith(name + b":")]


@pytest.mark.parametrize(
    ("user_agent", "headers", "sent"),
    [
        (None, (), b"User-Agent: curtsy-test"),
        ("other/1", (), b"User-Agent: other/1"),
        (None, (("user-agent", "mine"),), b"user-agent: mine"),
        ("other/1", (("User-Agent", "mine"),), b"User-Agent: mine"),
        (None, (("User-Agent", "a"), ("USER-AGENT", "b")), b"USER-AGENT: b"),
    ],
    ids=["the usual", "the request's", "a header's", "a header before all", "the last header's"],
)
async def test_whoever_asks_is_named_once(
    serve: Serve, user_agent: str | None, headers: Headers, sent: bytes
) -> None:
    site = await serve(page(b""))
    await get(Request(site.url, headers, user_agent=user_agent))
    assert lines_named(b"user-agent", site) == [sent]
    assert len(lines_named(b"accept", site)) == len(lines_named(b"accept-encoding", site)) == 1


async def test_an_accept_header_takes_the_place_of_the_usual(serve: Serve) -> None:
    site = await serve(page(b""))
    await get(Request(site.url, (("ACCEPT", "application/json"), ("X-Key", "k"))))
    assert lines_named(b"accept", site) == [b"ACCEPT: application/json"]
    assert lines_named(b"user-agent", site) == [b"User-Agent: curtsy-test"]
    assert lines_named(b"x-key", site) == [b"X-Key: k"]


async def test_a_condition_is_sent_once(serve: Serve) -> None:
    site = await serve(page(b""))
    await get(Request(site.url, (("if-none-match", '"old"'),), etag='"new"'))
    assert lines_named(b"if-none-match", site) == [b'If-None-Match: "new"']


@pytest.mark.parametrize(
    "name",
    ["Host", "connection", "Content-Length", "TRANSFER-ENCODING", "Accept-Encoding",
     "Proxy-Authorization", "Expect", "Upgrade", "TE",
     "Host ", " Host", "Host:", "X\tY", "", "Hos\u212a", "X-A\r\nHost"],
)  # fmt: skip
async def test_what_frames_a_request_is_not_a_callers_to_say(serve: Serve, name: str) -> None:
    site = await serve(page(b""))
    outcome = await get(Request(site.url, ((name, "1"),)))
    assert isinstance(outcome, Failed)
    assert outcome.kind is Kind.INTERNAL
    assert site.connections == 0


@pytest.mark.parametrize("name", ["a\r\nHost: b", "a\nb", "a\0b"])
async def test_a_name_to_ask_by_cannot_smuggle_in_a_header(serve: Serve, name: str) -> None:
    site = await serve(page(b""))
    outcome = await get(Request(site.url, user_agent=name))
    assert isinstance(outcome, Failed)
    assert site.connections == 0


async def test_an_empty_post_has_a_length(serve: Serve) -> None:
    site = await serve(page(b""))
    await get(Request(site.url, body=b""))
    assert site.requests[0].startswith(b"POST / ")
    assert lines_named(b"content-length", site) == [b"Content-Length: 0"]


def slow(before: float, within: float = 0.0, status: bytes = b"200 OK") -> Script:
    """So long until the headers, and so long again until the body is complete."""

    async def script(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await site.heard(reader)
        head, _, body = page(b"a" * 10, status=status).partition(b"\r\n\r\n")
        pauses = [before, *[within / len(body)] * len(body)]
        pieces = [head + b"\r\n\r\n", *(bytes([byte]) for byte in body)]
        for pause, piece in zip(pauses, pieces, strict=True):
            with suppress(TimeoutError):
                await asyncio.wait_for(reader.read(), pause)
                return  # nobody waits any more
            writer.write(piece)

    return script


async def test_a_request_may_have_less_time_than_usual(serve: Serve) -> None:
    site = await serve(slow(5))
    async with asyncio.timeout(4):
        outcome = await get(Request(site.url, timeout_ms=50))
    assert isinstance(outcome, Failed)
    assert outcome.kind is Kind.TIMEOUT


async def test_a_request_may_have_more_time_than_usual(serve: Serve) -> None:
    site = await serve(slow(0.2))
    assert isinstance(await get(site.url, total_seconds=0.05), Failed)
    assert isinstance(await get(Request(site.url, timeout_ms=9_000), total_seconds=0.05), Reply)


@pytest.mark.parametrize(
    ("timeout_ms", "connect_seconds"), [(50, 10), (10_000, 0.05)], ids=["total", "connect"]
)
async def test_connecting_takes_no_longer_than_either_limit(
    serve: Serve, timeout_ms: int, connect_seconds: float
) -> None:
    async def silent(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.read()
        await reader.read()

    site = await serve(silent)
    request = Request(site.url.replace("http:", "https:"), timeout_ms=timeout_ms)
    async with asyncio.timeout(5):
        outcome = await get(request, connect_seconds=connect_seconds)
    assert isinstance(outcome, Failed)
    assert outcome.kind is Kind.CONNECT


async def test_how_long_a_host_thought_is_told_whatever_its_body_took(serve: Serve) -> None:
    reply = await get((await serve(slow(0.1, within=1.0))).url)
    assert isinstance(reply, Reply)
    assert 95 <= reply.answered_ms < 1_000


async def test_how_long_a_host_thought_is_told_of_an_error_too(serve: Serve) -> None:
    site = await serve(slow(0.1, within=5, status=b"429 Too Many Requests"))
    reply = await get(Request(site.url, timeout_ms=1_000))
    assert isinstance(reply, Reply)
    assert (reply.status, reply.body) == (429, b"")
    assert 95 <= reply.answered_ms < 1_000


async def test_an_answer_that_comes_at_once_is_an_answer(serve: Serve) -> None:
    reply = await get((await serve(slow(0))).url)
    assert isinstance(reply, Reply)
    assert reply.answered_ms >= 1
