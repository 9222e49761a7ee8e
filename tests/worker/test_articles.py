"""Articles through the whole worker: read in children, stored as records, harmed pages alone."""

import asyncio
import ctypes
import gc
import time
from dataclasses import replace

import orjson
import psutil
import pytest
import zstandard

from curtsy.demo.site import PracticeSite
from curtsy.extract import ExtractLimits
from curtsy.politeness.policy import Policy
from curtsy.submit import JobRequest, PageRequest
from support.engine import Engine, settings
from support.pages import PageServer

FAST = Policy(min_delay=0, concurrency=8, retry_base=20, retry_cap=40)


async def submit(curtsy: Engine, *urls: str) -> str:
    request = JobRequest(door="fetch", pages=[PageRequest(u) for u in urls], scraper="article")
    return (await curtsy.submitter.submit(request)).job


def quick(seconds: float = 10) -> ExtractLimits:
    return ExtractLimits(processes=2, seconds=seconds)


async def test_an_article_is_stored_as_a_record(curtsy: Engine, site: PracticeSite) -> None:
    async with curtsy.worker(settings(FAST, extract=quick())):
        job = await submit(curtsy, site.url(0, "/page/7"))
        ended = await curtsy.ended(job)
    assert (ended.state, ended.done) == ("succeeded", 1)
    [document] = await curtsy.ask("SELECT * FROM documents")
    found = orjson.loads(zstandard.decompress(document.content))
    assert document.content_type == "application/json"
    assert found["title"].startswith("Page 7")
    assert len(found["text"]) > 200
    assert "<" not in found["text"]
    [attempt] = await curtsy.ask("SELECT memory FROM attempts")
    assert 10 * 2**20 < attempt.memory < 1000 * 2**20


_WALL = b"""<title>News</title><article><p>We value your privacy. We and our 812 partners store
cookies on your device. Accept all cookies or manage your cookie settings to go on reading with us
today.</p></article>"""


async def test_pages_that_are_no_article_say_why(curtsy: Engine) -> None:
    pages = {
        "/soft-404": (b"<title>Page not found</title><p>Sorry, we looked everywhere.</p>", "gone"),
        "/empty": (b"<html><body></body></html>", "extract_failed"),
        "/wall": (_WALL, "extract_failed"),
    }
    served = PageServer({path: body for path, (body, _) in pages.items()})
    async with served as server, curtsy.worker(settings(FAST, extract=quick())):
        job = await submit(curtsy, *(server.url(path) for path in pages))
        await curtsy.ended(job)
    kinds = {item.page_url: item.kind for item in await curtsy.items(job)}
    assert kinds == {server.url(path): kind for path, (_, kind) in pages.items()}


def resident() -> int:
    """What is really in use: the allocator gives back what it only keeps at hand."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


HOSTILE = {
    "a million nested tags": b"<div>" * 1_000_000,
    "200,000 attributes": b"<p " + b" ".join(b"a%d=1" % n for n in range(200_000)) + b">x</p>",
    "20 MB of text": b"<p>" + b"word " * 4_000_000 + b"</p>",
    "null bytes": b"<p>" + b"\0" * 1_000_000 + b"hello</p>",
    "a billion laughs": (
        b'<!DOCTYPE l [<!ENTITY l "lol">'
        + b"".join(b'<!ENTITY l%d "%s">' % (n, (b"&l%d;" % (n - 1) if n > 1 else b"&l;") * 10)
                   for n in range(1, 10))
        + b"]><p>&l9;</p>"
    ),
    "frames in frames": b"<iframe srcdoc='" * 50_000,
    "links never closed": b"<a href=x>" * 300_000 + b"t",
}  # fmt: skip


@pytest.mark.parametrize("scraper", ["article", "raw"])
async def test_hostile_pages_harm_nobody_else(curtsy: Engine, scraper: str) -> None:
    """200 normal pages meanwhile: all of them succeed, and take no longer than beside nothing."""
    normal = (
        b"<article><h1>News</h1><p>" + b"Words of an ordinary article. " * 40 + b"</p></article>"
    )
    bad = {f"/bad/{n}": body for n, body in enumerate(HOSTILE.values())}
    pages = {f"/page/{round_}/{n}": normal for round_ in (1, 2) for n in range(200)} | bad
    told = settings(FAST, extract=quick(2.0), slots=40)
    told = replace(told, limits=replace(told.limits, body_bytes=30 * 2**20, wire_bytes=30 * 2**20))

    async def run(server: PageServer, round_: int, *more: str) -> float:
        paths = [f"/page/{round_}/{n}" for n in range(200)]
        request = JobRequest("fetch", [PageRequest(server.url(p)) for p in paths], scraper=scraper)
        harm = JobRequest("fetch", [PageRequest(server.other(p)) for p in more], scraper=scraper)
        hurt = (await curtsy.submitter.submit(harm)).job if more else None
        if hurt:
            await asyncio.sleep(0.3)
        began = time.monotonic()
        ended = await curtsy.ended((await curtsy.submitter.submit(request)).job, 60)
        seconds = time.monotonic() - began
        assert (ended.done, ended.failed) == (200, 0)
        if hurt:
            assert (await curtsy.ended(hurt, 60)).done + (await curtsy.job(hurt)).failed == len(
                more
            )
        return seconds

    async with PageServer(pages) as server, curtsy.worker(told):
        await run(server, 1)
        alone = await run(server, 1)
        beside = await run(server, 2, *bad)
        after_one = resident()
        for _ in range(2):
            await run(server, 2, *bad)
        grown = resident() - after_one
        print(f"grown by {grown / 2**20:.1f} MB")
    # Two of the pages hold both readers for a second, until they have to step aside.
    assert beside < 3 * alone + 2 * 1.0 + 1, (alone, beside)
    assert grown < 25 * 2**20, "two more rounds of 40 MB each leave nothing behind"
