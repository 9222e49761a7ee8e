import gzip
import zlib
from dataclasses import replace

import brotli
import pytest
import zstandard

from curtsy.fetch import Request
from curtsy.model.outcome import Failed, Reply
from curtsy.model.urls import canonical
from fetch.sites import Serve, answers, fetcher, get, once, page


async def test_a_page_comes_back_whole(serve: Serve) -> None:
    site = await serve(page(b"<h1>Hello</h1>", b"Content-Type: text/html"))
    reply = await get(site.url)
    assert isinstance(reply, Reply)
    assert replace(reply, answered_ms=0) == Reply(
        status=200,
        url=site.url,
        headers={"content-type": "text/html", "content-length": "14"},
        body=b"<h1>Hello</h1>",
        wire_bytes=14,
    )


async def test_a_large_page_in_many_pieces_comes_back_whole(serve: Serve) -> None:
    body = bytes(range(256)) * 8_000
    reply = await get((await serve(page(body))).url)
    assert isinstance(reply, Reply)
    assert reply.body == body
    assert reply.wire_bytes == len(body)


async def test_a_chunked_page_comes_back_whole(serve: Serve) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    site = await serve(once(head, b"3\r\nabc\r\n", b"2\r\nde\r\n0\r\n\r\n"))
    reply = await get(site.url)
    assert isinstance(reply, Reply)
    assert (reply.body, reply.wire_bytes) == (b"abcde", 5)


async def test_a_page_without_a_length_ends_with_the_connection(serve: Serve) -> None:
    site = await serve(once(b"HTTP/1.1 200 OK\r\n\r\nabc", b"def"))
    reply = await get(site.url)
    assert isinstance(reply, Reply)
    assert reply.body == b"abcdef"


async def test_a_header_that_comes_twice_is_joined_by_a_comma(serve: Serve) -> None:
    site = await serve(page(b"", b"Vary: Accept", b"VARY: Cookie"))
    reply = await get(site.url)
    assert isinstance(reply, Reply)
    assert reply.headers["vary"] == "Accept, Cookie"


@pytest.mark.parametrize("sent", ["café".encode(), "café".encode("latin-1")])
async def test_a_header_is_always_text_that_can_be_stored(serve: Serve, sent: bytes) -> None:
    reply = await get((await serve(page(b"", b"X-Name: " + sent))).url)
    assert isinstance(reply, Reply)
    assert reply.headers["x-name"] == "café"


async def test_a_header_above_the_librarys_usual_limit_is_read(serve: Serve) -> None:
    reply = await get((await serve(page(b"", b"X-Long: " + b"a" * 20_000))).url)
    assert isinstance(reply, Reply)
    assert len(reply.headers["x-long"]) == 20_000


@pytest.mark.parametrize(
    "target",
    ["a%2Fb/|x?q=%5E^", "a%2fb//c/;p=1?b=2&a=1+1", "%7Euser/~user?x='\"", "?=&&a", "é?ü=%C3%BC"],
)
async def test_a_url_is_sent_as_its_canonical_form_spells_it(serve: Serve, target: str) -> None:
    site = await serve(page(b""))
    url = canonical(site.url + target).text
    await get(url)
    assert site.requests[0].split(b" ")[1].decode() == "/" + url.removeprefix(site.url)


async def test_the_request_says_who_asks_and_what_it_can_read(serve: Serve) -> None:
    site = await serve(page(b""))
    await get(Request(site.url, headers=(("X-Key", "k"),)))
    lines = site.requests[0].split(b"\r\n")
    assert b"Host: 127.0.0.1:%d" % site.port in lines
    assert b"User-Agent: curtsy-test" in lines
    assert b"Accept-Encoding: gzip, deflate, br, zstd" in lines
    assert b"X-Key: k" in lines


async def test_what_is_known_of_a_page_becomes_a_condition(serve: Serve) -> None:
    site = await serve(b"HTTP/1.1 304 Not Modified\r\n\r\n")
    day = "Mon, 05 Jan 2026 00:00:00 GMT"
    reply = await get(Request(site.url, etag='"v1"', last_modified=day))
    assert isinstance(reply, Reply)
    assert reply.status == 304
    assert b'If-None-Match: "v1"\r\n' in site.requests[0]
    assert f"If-Modified-Since: {day}\r\n".encode() in site.requests[0]


async def test_a_redirect_is_handed_back_and_not_followed(serve: Serve) -> None:
    site = await serve(page(b"", b"Location: /elsewhere", status=b"302 Found"))
    reply = await get(site.url)
    assert isinstance(reply, Reply)
    assert (reply.status, reply.headers["location"]) == (302, "/elsewhere")
    assert len(site.requests) == 1


async def test_a_connection_is_used_again_and_carries_no_cookies(serve: Serve) -> None:
    site = await serve(page(b"x", b"Set-Cookie: a=b"))
    url = f"http://localhost:{site.port}/"
    async with fetcher(allow="127.0.0.0/8") as open_fetcher:
        for _ in range(3):
            assert isinstance(await open_fetcher.fetch(Request(url)), Reply)
    assert site.connections == 1
    assert not any(b"cookie" in request.lower() for request in site.requests)


@pytest.mark.parametrize(
    ("encoding", "wire"),
    [
        (b"gzip", gzip.compress(b"words " * 900)),
        (b"X-GZIP", gzip.compress(b"words " * 900)),
        (b"deflate", zlib.compress(b"words " * 900)),
        (b"deflate", zlib.compress(b"words " * 900, wbits=-15)),
        (b"identity", b"words " * 900),
        (b"br", brotli.compress(b"words " * 900)),
        (b"zstd", zstandard.compress(b"words " * 900)),
        (b"deflate, gzip", gzip.compress(zlib.compress(b"words " * 900))),
    ],
    ids=["gzip", "x-gzip", "zlib", "bare deflate", "identity", "brotli", "zstd", "twice"],
)
async def test_a_compressed_page_comes_back_plain(
    serve: Serve, encoding: bytes, wire: bytes
) -> None:
    reply = await get((await serve(page(wire, b"Content-Encoding: " + encoding))).url)
    assert isinstance(reply, Reply)
    assert reply.body == b"words " * 900
    assert reply.wire_bytes == len(wire)


@pytest.mark.parametrize(
    "script",
    [
        answers(page(b"a" * 300_000, status=b"429 Too Many Requests")),
        answers(page(b"rubbish", b"Content-Encoding: br", status=b"429 Too Many Requests")),
        once(b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 9\r\n\r\n", b"cut"),
    ],
    ids=["large", "unreadable", "cut short"],
)
async def test_an_error_status_is_told_whatever_its_body_is_like(
    serve: Serve, script: object
) -> None:
    reply = await get((await serve(script)).url)
    assert isinstance(reply, Reply)
    assert (reply.status, reply.body) == (429, b"")


async def test_a_small_error_page_leaves_its_connection_usable(serve: Serve) -> None:
    site = await serve(page(b"not here", status=b"404 Not Found"))
    async with fetcher() as open_fetcher:
        for _ in range(2):
            reply = await open_fetcher.fetch(Request(site.url))
            assert isinstance(reply, Reply)
            assert reply.body == b"not here"
    assert site.connections == 1


async def test_an_interim_answer_is_passed_over(serve: Serve) -> None:
    site = await serve(b"HTTP/1.1 103 Early Hints\r\n\r\n" + page(b"page"))
    reply = await get(site.url)
    assert isinstance(reply, Reply)
    assert (reply.status, reply.body) == (200, b"page")


async def test_a_connection_that_switched_protocols_is_not_kept(serve: Serve) -> None:
    switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
    site = await serve(switch)
    async with fetcher() as open_fetcher:
        reply = await open_fetcher.fetch(Request(site.url))
        await site.left()
    assert isinstance(reply, Reply)
    assert reply.status == 101


async def test_a_url_that_cannot_be_asked_is_an_error_of_our_own() -> None:
    outcome = await get("ftp://example.org/")
    assert isinstance(outcome, Failed)
    assert outcome.kind == "internal"
    assert outcome.traceback is not None
