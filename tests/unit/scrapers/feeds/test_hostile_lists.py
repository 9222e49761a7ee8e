"""Feeds and sitemaps that are made to cost time, memory or requests."""

import gzip
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers import load
from curtsy.scrapers.feeds import read_list
from curtsy.scrapers.feeds.body_text import MOST_BYTES
from curtsy.scrapers.feeds.xml_reader import DEEPEST
from scrapers.feeds.odd_files import index, rss, urlset

ITEM = "<item><title>One</title><link>/{}</link></item>"
SECONDS = 10
"""Of processor time; each file takes less than two on an idle machine."""


def scraped(body: str | bytes, scraper: str = "feed", **headers: str) -> Record | Failed:
    body = body.encode() if isinstance(body, str) else body
    headers = {"content-type": "application/xml"} | headers
    return load(scraper, {})(Reply(200, "http://a.example/x", headers, body, len(body)))


def found(record: Record | Failed) -> dict[str, Any]:
    assert isinstance(record, Record), record
    page: dict[str, Any] = orjson.loads(record.content)
    return page


def said(record: Record | Failed) -> str:
    return " ".join(line for _level, line in record.lines)


def bomb(size: int) -> bytes:
    """Gzip that unpacks to so many bytes of white space, in members."""
    member = gzip.compress(b" " * 2**24)
    return member * (size // 2**24)


def test_a_gzip_bomb_is_unpacked_up_to_the_limit() -> None:
    started = time.process_time()
    record = scraped(gzip.compress(urlset("").encode()) + bomb(2**32), "sitemap")
    assert f"larger than {MOST_BYTES // 2**20} MiB" in said(record)
    assert time.process_time() - started < SECONDS


def test_gzip_of_very_many_members_ends() -> None:
    members = gzip.compress(b"http://a.example/1\n") * 5_000
    started = time.process_time()
    assert len(found(scraped(members, "sitemap"))["records"]) == 1
    assert time.process_time() - started < SECONDS


def test_gzip_within_gzip_is_no_list() -> None:
    record = scraped(gzip.compress(gzip.compress(urlset("").encode())), "sitemap")
    assert isinstance(record, Failed)


HOSTILE: dict[str, Callable[[], str]] = {
    "elements within elements": lambda: "<rss>" + "<a>" * 1_000_000,
    "elements within a text": lambda: "<rss><item><title>" + "<b>" * 1_000_000,
    "unclosed elements that do not match": lambda: "<rss><item><title>" + "<x></y>" * 200_000,
    "namespaces in each element": lambda: "<rss>" + '<a xmlns:b="c"/>' * 300_000,
    "namespaces in one element": lambda: (
        "<rss " + " ".join(f'xmlns:a{n}="b"' for n in range(100_000)) + "><item/></rss>"),
    "attributes": lambda: (
        "<rss " + " ".join(f'a{n}="b"' for n in range(300_000)) + "><item/></rss>"),
    "bases": lambda: "<feed>" + '<entry xml:base="a/"><link href="b"/></entry>' * 50_000,
    "ampersands": lambda: rss("&" * 3_000_000),
    "comments that do not end": lambda: rss("<!--" * 1_000_000),
    "CDATA that does not end": lambda: rss("<![CDATA[" * 500_000),
    "tags that do not end": lambda: "<rss><item><description>" + "&lt;a" * 1_000_000,
    "a doctype that does not end": lambda: "<!DOCTYPE " + "a" * 5_000_000,
    "a doctype of brackets": lambda: "<!DOCTYPE rss [" + "[" * 5_000_000,
    "instructions that do not end": lambda: "<?" * 2_000_000,
    "titles of a feed": lambda: "<rss>" + f"<title>{'<![CDATA[<b>]]>' * 100}</title>" * 3_000,
    "people": lambda: rss(f"<item><author>{'a@' * 1_000_000}(</author><link>/1</link></item>"),
    "dates": lambda: rss(f"<item><pubDate>{'1 ' * 1_000_000}</pubDate><link>/1</link></item>"),
    "links of an entry": lambda: (
        "<feed><entry>" + '<link rel="a b c d e f" href="/x"/>' * 200_000 + "</entry></feed>"),
    "a link without end": lambda: f"<urlset><url><loc>http://a/{'a' * 5_000_000}</loc></url>",
    "languages": lambda: urlset(
        "<url><loc>/1</loc>" + "".join(f'<link rel="alternate" hreflang="x" href="/{n}"/>'
                                      for n in range(200_000)) + "</url>"),
    "references": lambda: rss(f"<item><title>{'&#x110000;&nope;' * 300_000}</title></item>"),
}  # fmt: skip


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("scraper", ["feed", "sitemap"])
def test_what_is_made_to_cost_time_does_not(make: Callable[[], str], scraper: str) -> None:
    body = make()
    started = time.process_time()
    scraped(body, scraper)
    assert time.process_time() - started < SECONDS


def test_a_document_that_nests_deep_is_read_up_to_there() -> None:
    record = scraped(rss(ITEM.format(1) + "<a>" * 200 + ITEM.format(2)))
    assert len(found(record)["records"]) == 1
    assert f"more than {DEEPEST} elements" in said(record)


def test_of_very_many_items_the_first_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_list, "MOST_ENTRIES", 1_000)
    record = scraped(rss("".join(ITEM.format(n) for n in range(2_000))))
    assert len(found(record)["records"]) == 1_000
    assert "more than 1000 entries" in said(record)


def test_of_a_million_items_a_hundred_thousand_are_kept() -> None:
    started = time.process_time()
    record = scraped("".join(f"http://a.example/{n}\n" for n in range(1_000_000)), "sitemap")
    assert len(found(record)["records"]) == read_list.MOST_ENTRIES == 100_000
    assert time.process_time() - started < SECONDS


def test_of_very_many_parts_the_first_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_list, "MOST_LISTS", 10)
    parts = "".join(f"<sitemap><loc>/{n}</loc></sitemap>" for n in range(20))
    record = scraped(index(parts), "sitemap")
    assert len(found(record)["more"]) == 10
    assert "more than 10 parts" in said(record)


def test_entries_that_take_much_room_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_list, "MOST_TEXT", 100_000)
    long = "<item><link>/{}</link><description>" + "Text " * 400 + "</description></item>"
    record = scraped(rss("".join(long.format(n) for n in range(100))))
    assert 0 < len(found(record)["records"]) < 100
    assert "the rest was left out" in said(record)


@pytest.fixture
def listening() -> Iterator[tuple[str, list[str]]]:
    """A server that nothing may ask: its URL, and what arrives."""
    arrived: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        over = threading.Event()

        def serve() -> None:
            while not over.is_set():
                try:
                    connection, address = server.accept()
                except TimeoutError:
                    continue
                arrived.append(str(address))
                connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", arrived
        over.set()
        thread.join()


OUTWARD = (
    '<!DOCTYPE rss SYSTEM "{0}/x.dtd">{1}',
    '<!DOCTYPE rss PUBLIC "-//X//DTD//EN" "{0}/x.dtd">{1}<broken>',
    '<!DOCTYPE rss [<!ENTITY a SYSTEM "{0}/x">]><rss><item><title>&a;</title></item></rss>',
    '<!DOCTYPE rss [<!ENTITY % a SYSTEM "{0}/x"> %a;]>{1}',
    '<?xml version="1.0" standalone="no"?><!DOCTYPE rss SYSTEM "{0}/x.dtd">{1}</broken>',
    '<?xml-stylesheet type="text/xsl" href="{0}/x.xsl"?>{1}',
    '<rss xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="{0}/x"/>{1}</rss></broken>',
    '<rss xmlns:x="http://www.w3.org/2001/XMLSchema-instance" x:schemaLocation="{0}/x {0}/y"/>',
    '<feed xml:base="{0}/"><entry><link href="1"/><content src="{0}/c"/></entry></feed>',
    '<html><link rel=alternate type="application/rss+xml" href="{0}/rss"><img src="{0}/i">',
    "<sitemapindex><sitemap><loc>{0}/s.xml</loc></sitemap></sitemapindex>",
    "Sitemap: {0}/s.xml\nUser-agent: *\n",
    '{{"version": "https://jsonfeed.org/version/1.1", "next_url": "{0}/", "items": []}}',
)


def test_no_parser_fetches(listening: tuple[str, list[str]]) -> None:
    url, arrived = listening
    for text, scraper in itertools.product(OUTWARD, ("feed", "sitemap")):
        scraped(text.format(url, rss(ITEM.format(1))), scraper)
    assert arrived == []
    host, _, port = url.removeprefix("http://").partition(":")
    socket.create_connection((host, int(port))).close()
    deadline = time.monotonic() + SECONDS
    while not arrived and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(arrived) == 1, "the server would have noticed"
