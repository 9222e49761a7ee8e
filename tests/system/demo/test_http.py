"""The practice site speaks HTTP/1.1 as it should, spoken to byte by byte."""

import asyncio

import pytest

from curtsy.demo.practice_site import PracticeSite

LAST = b"Host: a\r\nConnection: close\r\n\r\n"


async def test_a_connection_serves_many_requests(dial):
    async with dial() as (reader, writer):
        for _ in range(3):
            writer.write(b"GET /missing/1 HTTP/1.1\r\nHost: a\r\n\r\n")
            assert (await reader.readuntil(b"404 Not Found\n")).count(b"HTTP/1.1 404") == 1


async def test_pipelined_requests_are_answered_in_their_order(raw, site):
    slow = b"GET /slow/40/1 HTTP/1.1\r\nHost: a\r\n\r\n"
    drip = b"GET /drip/40/2 HTTP/1.1\r\nHost: a\r\n\r\n"
    fast = b"GET /page/3 HTTP/1.1\r\nHost: a\r\n\r\n"
    said = await raw(slow + drip + fast + b"GET /status/410/4 HTTP/1.1\r\n" + LAST)
    places = [said.index(mark) for mark in (b"Page 1 of", b"Drip 2", b"Page 3 of", b"410 Gone")]
    assert places == sorted(places)
    assert len({entry.at for entry in site.entries()}) == 1, "they arrived together"


async def test_a_head_may_arrive_in_pieces(dial):
    async with dial() as (reader, writer):
        for piece in (b"\r\nGET /robots", b".txt HTTP/1.1\r\nHo", b"st: a\r\n\r", b"\n"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        assert await reader.readuntil(b"sitemap.xml\n")


async def test_head_is_answered_without_a_body(raw):
    said = await raw(b"HEAD /page/1 HTTP/1.1\r\n" + LAST)
    head, _, body = said.partition(b"\r\n\r\n")
    assert b"Content-Length: 2" in head
    assert body == b""


async def test_an_answer_of_status_204_has_neither_body_nor_length(raw):
    said = await raw(b"GET /status/204/1 HTTP/1.1\r\n" + LAST)
    assert said.endswith(b"\r\n\r\n")
    assert b"Content-Length" not in said


async def test_http_1_0_and_a_wish_to_close_end_the_connection(raw):
    for sent in (b"GET /page/1 HTTP/1.0\r\n\r\n", b"GET /page/1 HTTP/1.1\r\n" + LAST):
        said = await raw(sent)
        assert b"Connection: close\r\n" in said
        assert said.endswith(b"</html>\n")


async def test_the_absolute_form_of_a_target_is_understood(raw, site):
    assert b" 200 OK" in await raw(b"GET http://a:80/page/1?x=1 HTTP/1.1\r\n" + LAST)
    assert site.entries()[0].path == "/page/1?x=1"


async def test_other_methods_are_not_allowed_and_their_body_is_skipped(raw):
    post = b"POST /page/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /"
    said = await raw(post + b"GET /page/1 HTTP/1.1\r\n" + LAST)
    assert said.startswith(b"HTTP/1.1 405 Method Not Allowed\r\n")
    assert said.count(b"HTTP/1.1 200 OK") == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET  /page/1 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /caf\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET page/1 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /page/1 HTTP/1.1\r\n\r\n", 400),
        (b"GET /page/1 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /page/1 HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        (b"GET /page/1 HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /page/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"GET /page/1 HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        (b"GET /" + b"a" * 70_000, 431),
        (b"GET /page/1 HTTP/1.1\r\nHost: " + b"a" * 70_000 + b"\r\n\r\n", 431),
    ],
)
async def test_what_is_no_request_is_refused_and_the_connection_closed(raw, site, sent, status):
    said = await raw(sent)
    assert said.startswith(b"HTTP/1.1 %d " % status)
    assert b"Connection: close\r\n" in said
    assert site.entries() == []


async def test_a_reader_who_is_slow_holds_back_the_answers_behind(dial, site):
    async with dial() as (reader, writer):
        writer.write(b"GET /page/1?size=16000000 HTTP/1.1\r\nHost: a\r\n\r\n" * 3)
        await reader.readline()
        assert len(site.entries()) == 1
        total = 0
        while total < 3 * 16_000_000:
            total += len(await reader.read(1_000_000))
    assert len(site.entries()) == 3


async def test_an_idle_connection_is_closed():
    async with PracticeSite(hosts=1, idle_seconds=0.05) as site:
        reader, writer = await asyncio.open_connection("127.0.1.1", site.port)
        writer.write(b"GET /page/1 HTTP/1.1\r\nHost: a")
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
        await writer.wait_closed()


async def test_a_slow_answer_is_not_idle(client):
    async with (
        PracticeSite(hosts=1, idle_seconds=0.02) as site,
        client.get(site.url(0, "/slow/100/1")) as reply,
    ):
        assert reply.status == 200
