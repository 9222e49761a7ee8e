"""Feeds and sitemaps in the confined child processes that read them."""

import gzip

import orjson
import psutil

from curtsy.extract import ExtractLimits, Pool
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Record, Reply

URLS = 50_000
BAR_SECONDS = 1.0
TRIES = 3
"""The fastest counts: other processes slow one down, none speeds it up."""
ENTRY = (
    "<url><loc>https://a.example/articles/2026/{0}/a-name-of-the-usual-length?x=1&amp;y=2</loc>"
    "<lastmod>2026-11-{1:02}T10:00:00+01:00</lastmod><changefreq>daily</changefreq></url>\n"
)


def reply(body: bytes) -> Reply:
    return Reply(200, "https://a.example/s.xml", {"content-type": "text/xml"}, body, len(body))


def child_seconds() -> float:
    """Of processor time that all children of this process have used so far."""
    children = psutil.Process().children(recursive=True)
    return sum(used.user + used.system for used in (child.cpu_times() for child in children))


async def test_50_000_urls_take_a_child_less_than_a_second() -> None:
    entries = "".join(ENTRY.format(n, n % 28 + 1) for n in range(URLS))
    name = "http://www.sitemaps.org/schemas/sitemap/0.9"
    body = f'<?xml version="1.0"?><urlset xmlns="{name}">{entries}</urlset>'.encode()
    seconds = []
    async with Pool(ExtractLimits(processes=1, seconds=60)) as pool:
        await pool.extract("sitemap", reply(b"https://a.example/"))
        for _ in range(TRIES):
            before = child_seconds()
            record = await pool.extract("sitemap", reply(body))
            seconds.append(child_seconds() - before)
            assert isinstance(record, Record), record
            assert len(orjson.loads(record.content)["records"]) == URLS
    assert 0.05 < min(seconds) < BAR_SECONDS, seconds


async def test_a_bomb_costs_a_child_bounded_memory() -> None:
    bomb = gzip.compress(b"<urlset>") + gzip.compress(b" " * 2**24) * 256  # unpacks to 4 GiB
    wide = "\u4e2d" * (12 * 2**20)
    large = gzip.compress(f"<rss><item><title>{wide}</title><link>/1</link></item></rss>".encode())
    async with Pool(ExtractLimits(processes=1, seconds=60)) as pool:
        for body in (bomb, large):
            record = await pool.extract("sitemap", reply(body))
            assert isinstance(record, Record), record
            assert record.memory is not None
            assert record.memory < 500 * 2**20, record.memory


async def test_entities_fail_in_a_sentence() -> None:
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    body = f'<!DOCTYPE x [<!ENTITY a0 "ha">{laughs}]><rss>&a9;</rss>'.encode()
    async with Pool(ExtractLimits(processes=1, seconds=60)) as pool:
        failed = await pool.extract("feed", reply(body))
    assert isinstance(failed, Failed)
    assert failed.kind is Kind.NOT_SUPPORTED
    assert failed.error.startswith("The XML declares entities")
