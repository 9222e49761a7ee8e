"""What a host can do on the wire beyond sending a page, and the connections between two pages."""

import asyncio
import socket

import pytest

from curtsy.fetch import Request, connection_pool, resolver
from curtsy.fetch.guard import AddressRefused, parse_networks
from curtsy.fetch.resolver import Resolver
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Reply
from fetch.sites import Serve, Site, answers, fetcher, get, once, page

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def body_of(outcome: Reply | Failed) -> bytes:
    assert isinstance(outcome, Reply), outcome
    return outcome.body


def kind_of(outcome: Reply | Failed) -> Kind:
    assert isinstance(outcome, Failed), outcome
    return outcome.kind


@pytest.mark.parametrize(
    "first",
    [page(b"mine") + page(b"planted"), page(b"mine") + b"planted", page(b"mine") + b"HTTP/1.1 20"],
    ids=["a second answer", "rubbish", "half an answer"],
)
async def test_what_follows_an_answer_is_never_taken_for_the_next(
    serve: Serve, first: bytes
) -> None:
    site = await serve(answers(first, page(b"mine too")))
    async with fetcher() as open_fetcher:
        assert body_of(await open_fetcher.fetch(Request(site.url))) == b"mine"
        assert body_of(await open_fetcher.fetch(Request(site.url))) == b"mine too"
    assert site.connections == 2


async def test_what_comes_unasked_between_two_requests_ends_the_connection(serve: Serve) -> None:
    async def talkative(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            await site.heard(reader)
            writer.write(page(b"mine"))
            await asyncio.sleep(0.02)
            writer.write(page(b"planted"))

    site = await serve(talkative)
    async with fetcher() as open_fetcher:
        assert body_of(await open_fetcher.fetch(Request(site.url))) == b"mine"
        await asyncio.sleep(0.05)
        assert body_of(await open_fetcher.fetch(Request(site.url))) == b"mine"
    assert site.connections == 2


async def test_an_answer_behind_its_connections_end_counts_and_what_follows_does_not(
    serve: Serve,
) -> None:
    answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nminemore"
    site = await serve(answers(answer))
    assert body_of(await get(site.url)) == b"mine"


async def test_endless_interim_answers_are_too_large(serve: Serve) -> None:
    async def hints(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.heard(reader)
        while not writer.is_closing():
            writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100)
            await writer.drain()

    assert kind_of(await get((await serve(hints)).url, total_seconds=10)) is Kind.TOO_LARGE


async def test_a_body_of_single_bytes_is_read_whole(serve: Serve) -> None:
    site = await serve(answers(CHUNKED + b"1\r\nx\r\n" * 5_000 + b"0\r\n\r\n"))
    assert body_of(await get(site.url)) == b"x" * 5_000


async def test_frames_around_nothing_are_too_large(serve: Serve) -> None:
    async def frames(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await site.heard(reader)
        writer.write(CHUNKED + b"1;")
        while not writer.is_closing():
            writer.write(b"extension" * 1_000)
            await writer.drain()

    outcome = await get((await serve(frames)).url, wire_bytes=10_000, total_seconds=10)
    assert kind_of(outcome) is Kind.TOO_LARGE


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\nContent-Length: 4\n\npage",
        b"HTTP/1.1 200\r\nContent-Length: 4\r\n\r\npage",
        b"HTTP/1.0 200 OK\r\n\r\npage",
        CHUNKED + b"4  \r\npage\r\n0\r\n\r\n",
        CHUNKED + b"4\r\npage\r\n0\r\nTrailer: x\r\n\r\n",
    ],
    ids=["bare line ends", "no reason", "old protocol", "spaces behind a size", "a trailer"],
)
async def test_what_browsers_put_up_with_is_read(serve: Serve, answer: bytes) -> None:
    assert body_of(await get((await serve(once(answer))).url)) == b"page"


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 4\r\nContent-Length: 5\r\n",
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: -4\r\n",
        b"Content-Length: 4, 4\r\n",
        b"Content-Length: 99999999999999999999999999\r\n",
    ],
    ids=["two lengths", "length and chunks", "negative", "a list", "beyond numbers"],
)
async def test_a_length_that_can_be_read_in_two_ways_is_no_answer(
    serve: Serve, head: bytes
) -> None:
    site = await serve(once(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n4\r\npage\r\n0\r\n\r\n"))
    assert kind_of(await get(site.url)) in (Kind.SERVER_ERROR, Kind.TOO_LARGE)


async def test_a_header_never_holds_what_the_store_cannot(serve: Serve) -> None:
    outcome = await get((await serve(page(b"", b"ETag: a\0b"))).url)
    if isinstance(outcome, Reply):
        assert "\0" not in outcome.headers["etag"]
    else:
        assert outcome.kind is Kind.SERVER_ERROR


@pytest.mark.parametrize("etag", ["a\r\nX-Evil: 1", "a\nb", "a\0b"])
async def test_a_condition_cannot_smuggle_in_a_header(serve: Serve, etag: str) -> None:
    site = await serve(page(b""))
    assert kind_of(await get(Request(site.url, etag=etag))) is Kind.INTERNAL
    assert site.requests == []


@pytest.mark.parametrize(
    "tail",
    ["a b", "a\r\nX: y", "a\0", "é", "#part"],
    ids=["a space", "a line's end", "a null", "not ASCII", "a fragment"],
)
async def test_a_url_that_is_not_canonical_is_not_sent(serve: Serve, tail: str) -> None:
    site = await serve(page(b""))
    assert kind_of(await get(site.url + tail)) is Kind.INTERNAL
    assert kind_of(await get(site.url.replace("127.", "me@127."))) is Kind.INTERNAL
    assert site.connections == 0


async def test_a_connection_is_kept_for_a_while_only(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(connection_pool, "_SWEEP_SECONDS", 0.02)
    site = await serve(page(b"page"))
    async with fetcher() as open_fetcher:
        await open_fetcher.fetch(Request(site.url))
        async with asyncio.timeout(2):
            await site.left()
        assert open_fetcher._pool._idle == {}


async def test_only_so_many_connections_are_kept(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "MOST_IDLE", 2)
    sites = [await serve(page(b"page")) for _ in range(4)]
    async with fetcher() as open_fetcher:
        for site in sites:
            await open_fetcher.fetch(Request(site.url))
        async with asyncio.timeout(2):
            await asyncio.gather(*(site.left() for site in sites[2:]))
        assert open_fetcher._pool._count == 2


async def test_a_name_is_looked_up_once_for_all_who_ask_and_then_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def answer(host: str) -> list[str]:
        asked.append(host)
        return ["127.0.0.1", "10.0.0.1"]

    monkeypatch.setattr(resolver, "addresses_of", answer)
    names = Resolver(allow=parse_networks("127.0.0.0/8"))
    found = await asyncio.gather(*(names.addresses("a.example") for _ in range(5)))
    assert found == [["127.0.0.1"]] * 5
    assert await names.addresses("a.example") == ["127.0.0.1"]
    assert asked == ["a.example"]
    monkeypatch.setattr(resolver, "CACHE_SECONDS", -1.0)
    await names.addresses("b.example")
    await names.addresses("b.example")
    assert asked == ["a.example", "b.example", "b.example"]
    names.close()


async def test_a_failed_lookup_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    replies: list[list[str] | Exception] = [
        socket.gaierror(socket.EAI_AGAIN, "later"), ["10.0.0.1"], ["127.0.0.1"],
    ]  # fmt: skip

    def answer(_host: str) -> list[str]:
        reply = replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    monkeypatch.setattr(resolver, "addresses_of", answer)
    names = Resolver(allow=parse_networks("127.0.0.0/8"))
    with pytest.raises(socket.gaierror):
        await names.addresses("a.example")
    with pytest.raises(AddressRefused):
        await names.addresses("a.example")
    assert await names.addresses("a.example") == ["127.0.0.1"]
    names.close()
