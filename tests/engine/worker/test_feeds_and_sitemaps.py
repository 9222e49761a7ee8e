"""Crawls that start at feeds and sitemaps, through the whole worker."""

import gzip
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from curtsy.events.log_lines import log_lines
from curtsy.events.stored_events import read_job_after
from curtsy.extract import ExtractLimits
from curtsy.model.roles import Caller, Role
from curtsy.politeness.policy import Policy
from curtsy.requests.crawl import CrawlRequest, job_request
from curtsy.worker import lead_pages
from support.engine import Engine, settings
from support.pages import PageServer

FAST = Policy(min_delay=0, concurrency=8, retry_base=20, retry_cap=40)
SITEMAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
INDEX = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</sitemapindex>'
RSS = '<rss version="2.0" xmlns:a="http://www.w3.org/2005/Atom"><channel>{}</channel></rss>'
PAGE = b"<p>A page</p>"

Pages = dict[str, bytes]
Given = dict[str, str | None]


@pytest.fixture
async def site() -> AsyncIterator[tuple[PageServer, Pages]]:
    pages: Pages = {}
    async with PageServer(pages) as server:
        yield server, pages


def sitemap(server: PageServer, entries: Given) -> bytes:
    """By path: `lastmod`."""
    return SITEMAP.format("".join(_entry("url", server, *one) for one in entries.items())).encode()


def index(server: PageServer, entries: Given) -> bytes:
    return INDEX.format(
        "".join(_entry("sitemap", server, *one) for one in entries.items())
    ).encode()


def _entry(name: str, server: PageServer, path: str, lastmod: str | None) -> str:
    said = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return f"<{name}><loc>{server.url(path)}</loc>{said}</{name}>"


def rss(server: PageServer, *paths: str, after: str | None = None) -> bytes:
    following = f'<a:link rel="next" href="{after}"/>' if after else ""
    items = "".join(f"<item><guid>id {path}</guid><link>{path}</link></item>" for path in paths)
    return RSS.format(following + items).encode()


async def crawled(
    curtsy: Engine, server: PageServer, *, most: int = 1_000, **start: Any
) -> tuple[Any, list[str]]:
    """The crawl when it has ended, and what it asked for."""
    server.asked.clear()
    params = {"max_pages": most}
    body = CrawlRequest.model_validate({"spider": "raw", "start": start, "params": params})
    request = job_request(
        body,
        key=None,
        caller=Caller(None, Role.SUBMIT),
        fresh=False,
        cache_ttl=0,
        now=curtsy.clock.now(),
    )
    extract = ExtractLimits(processes=1, seconds=20)
    async with curtsy.worker(settings(FAST, extract=extract)):
        job = (await curtsy.submitter.submit(request)).job
        return await curtsy.ended(job, 60), sorted(server.asked)


async def test_a_crawl_of_an_index_of_gzip_sitemaps_fetches_each_page_once(
    curtsy: Engine, site: tuple[PageServer, Pages]
) -> None:
    server, pages = site
    first, second = {"/1": None, "/2": "2026-01-02"}, {"/2": None, "/3": None}
    pages |= {
        "/sitemap.xml": index(server, {"/a.xml.gz": None, "/b.xml.gz": None}),
        "/a.xml.gz": gzip.compress(sitemap(server, first)),
        "/b.xml.gz": gzip.compress(sitemap(server, second)),
    } | dict.fromkeys(("/1", "/2", "/3"), PAGE)
    job, asked = await crawled(curtsy, server, sitemap=server.url("/sitemap.xml"))
    assert (job.state, job.total) == ("succeeded", 6)
    assert asked == sorted(pages)


async def test_the_next_run_fetches_what_is_new_or_has_changed(
    curtsy: Engine, site: tuple[PageServer, Pages]
) -> None:
    server, pages = site
    lists = {"/a.xml": "2026-01-01", "/b.xml": "2026-01-01", "/c.xml": None}
    pages |= {
        "/sitemap.xml": index(server, lists),
        "/a.xml": sitemap(server, {"/1": "2026-01-01", "/2": "2026-01-01", "/3": None}),
        "/b.xml": sitemap(server, {"/never": None}),
        "/c.xml": sitemap(server, {"/4": "2026-01-01"}),
    } | dict.fromkeys(("/1", "/2", "/3", "/4", "/5", "/never"), PAGE)
    where = {"sitemap": server.url("/sitemap.xml")}
    _job, asked = await crawled(curtsy, server, **where)
    assert asked == sorted({*pages} - {"/5"})
    pages["/sitemap.xml"] = index(server, lists | {"/a.xml": "2026-02-02"})
    pages["/a.xml"] = sitemap(
        server, {"/1": "2026-02-02", "/2": "2025-12-31", "/3": None, "/5": None}
    )
    job, asked = await crawled(curtsy, server, **where)
    assert asked == ["/1", "/5", "/a.xml", "/c.xml", "/sitemap.xml"]
    assert job.state == "succeeded"
    events = await curtsy.store.read(lambda c: read_job_after(c, job.id, 0, most=100))
    log = [line.msg for event in events for line in log_lines(event)]
    assert [one for one in log if "a.xml, " in one] == [
        f"Read {server.url('/a.xml')}, 4 entries (2 to fetch, 2 seen before): 5 pages now"
    ]
    _job, asked = await crawled(curtsy, server, **where)
    assert asked == ["/c.xml", "/sitemap.xml"]
    _job, asked = await crawled(curtsy, server, **where, new_only=False)
    assert asked == sorted(pages)


async def test_a_date_in_the_future_is_corrected_by_any_other(
    curtsy: Engine, site: tuple[PageServer, Pages]
) -> None:
    server, pages = site
    pages |= {"/s.xml": sitemap(server, {"/1": "2098-01-01"}), "/1": PAGE}
    where = {"sitemap": server.url("/s.xml")}
    runs = [(await crawled(curtsy, server, **where))[1] for _ in range(2)]
    assert runs == [["/1", "/s.xml"], ["/s.xml"]]
    pages["/s.xml"] = sitemap(server, {"/1": "2026-01-01"})
    runs = [(await crawled(curtsy, server, **where))[1] for _ in range(2)]
    assert runs == [["/1", "/s.xml"], ["/s.xml"]]


async def test_entries_that_lead_to_one_page_fetch_it_in_one_run(
    curtsy: Engine, site: tuple[PageServer, Pages]
) -> None:
    server, pages = site
    atom = '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>{}</id><link href="/1"/></entry>'
    pages |= {
        "/": b"<link rel=alternate type=application/rss+xml href=/rss>"
             b"<link rel=alternate type=application/atom+xml href=/atom>",
        "/rss": RSS.format("<item><guid>a</guid><link>/1#a</link></item>"
                           "<item><guid>b</guid><link>/1#b</link></item>").encode(),
        "/atom": (atom.format("urn:c") + "</feed>").encode(), "/1": PAGE,
    }  # fmt: skip
    runs = [(await crawled(curtsy, server, feed=server.url("/")))[1] for _ in range(2)]
    assert runs == [["/", "/1", "/atom", "/rss"], ["/", "/atom", "/rss"]]


async def test_what_did_not_fit_is_fetched_by_the_next_runs(
    curtsy: Engine, site: tuple[PageServer, Pages], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lead_pages, "AT_ONCE", 2)
    server, pages = site
    day = "2026-01-0{}"
    known = {f"/{n}": day.format(n) for n in range(1, 4)}
    pages |= {"/i.xml": index(server, {"/s.xml": "2026-01-01"}), "/s.xml": sitemap(server, known)}
    pages |= dict.fromkeys((f"/{n}" for n in range(1, 8)), PAGE)
    where = {"sitemap": server.url("/i.xml")}
    await crawled(curtsy, server, **where)
    more = {f"/{n}": day.format(n) for n in range(4, 8)}
    pages |= {"/i.xml": index(server, {"/s.xml": "2026-02-02"}),
              "/s.xml": sitemap(server, more | known)}  # fmt: skip
    fetched = []
    for _ in range(3):
        _job, asked = await crawled(curtsy, server, most=4, **where)
        fetched.append([path for path in asked if path in more])
    assert fetched == [["/6", "/7"], ["/4", "/5"], []]


async def test_an_index_that_lists_itself_ends(
    curtsy: Engine, site: tuple[PageServer, Pages]
) -> None:
    server, pages = site
    pages |= {
        f"/{n}.xml": index(server, {"/0.xml": None, f"/{n}.xml": None, f"/{n + 1}.xml": None})
        for n in range(8)
    }
    pages["/8.xml"] = sitemap(server, {"/deep": None})
    job, asked = await crawled(curtsy, server, sitemap=server.url("/0.xml"))
    assert job.state == "succeeded"
    assert asked == ["/0.xml", "/1.xml", "/2.xml", "/3.xml"]


async def test_a_feed_goes_on_on_older_pages_while_there_is_anything_new(
    curtsy: Engine, site: tuple[PageServer, Pages]
) -> None:
    server, pages = site
    pages |= {
        "/feed": rss(server, "/4", "/3", after="/feed?page=2"),
        "/feed?page=2": rss(server, "/2", after="/feed?page=3"),
        "/feed?page=3": rss(server, "/1", after="/feed"),
    } | dict.fromkeys(("/1", "/2", "/3", "/4", "/5"), PAGE)
    where = {"feed": server.url("/feed")}
    job, asked = await crawled(curtsy, server, **where)
    assert job.state == "succeeded"
    assert asked == sorted({*pages} - {"/5"})
    assert (await crawled(curtsy, server, **where))[1] == ["/feed"]
    pages["/feed"] = rss(server, "/5", "/4", after="/feed?page=2")
    assert (await crawled(curtsy, server, **where))[1] == ["/5", "/feed", "/feed?page=2"]


async def test_a_page_leads_to_its_feed_and_a_robots_txt_to_its_sitemap(
    curtsy: Engine, site: tuple[PageServer, Pages]
) -> None:
    server, pages = site
    pages |= {
        "/": b'<link rel=alternate type=application/rss+xml href=/rss><link rel=next href="/p2">',
        "/rss": rss(server, "/1"),
        "/robots.txt": f"User-agent: *\nDisallow: /x\nSitemap: {server.url('/s.txt')}".encode(),
        "/s.txt": f"{server.url('/2')}\n".encode(),
        "/1": PAGE, "/2": PAGE,
    }  # fmt: skip
    _job, asked = await crawled(
        curtsy, server, feed=server.url("/"), sitemap=server.url("/robots.txt")
    )
    assert asked == sorted(pages)


@pytest.mark.parametrize(
    ("path", "kind", "body"),
    [
        ("/feed", "extract_failed", lambda _server: PAGE),
        ("/robots.txt", "extract_failed", lambda _server: b"User-agent: *\nDisallow:\n"),
        ("/feed", "not_supported", lambda _server: b'<!DOCTYPE r [<!ENTITY a "b">]><rss>&a;</rss>'),
    ],
)
async def test_what_is_no_feed_fails_the_crawl(
    curtsy: Engine, site: tuple[PageServer, Pages], path: str, kind: str,
    body: Callable[[PageServer], bytes],
) -> None:  # fmt: skip
    server, pages = site
    pages[path] = body(server)
    name = "sitemap" if path == "/robots.txt" else "feed"
    job, _asked = await crawled(curtsy, server, **{name: server.url(path)})
    [item] = await curtsy.items(job.public_id)
    assert (job.state, item.kind) == ("failed", kind)


async def test_entries_beyond_the_scope_are_left_out(
    curtsy: Engine, site: tuple[PageServer, Pages]
) -> None:
    server, pages = site
    elsewhere = f"<url><loc>{server.other('/2')}</loc></url>"
    inside = "<url><loc>http://127.0.0.1:22/</loc></url><url><loc>file:///etc/passwd</loc></url>"
    pages |= {"/s.xml": SITEMAP.format(f"<url><loc>/1</loc></url>{elsewhere}{inside}").encode(),
              "/1": PAGE, "/2": PAGE}  # fmt: skip
    _job, asked = await crawled(curtsy, server, sitemap=server.url("/s.xml"), scope="host")
    assert asked == ["/1", "/s.xml"]
    _job, asked = await crawled(
        curtsy, server, sitemap=server.url("/s.xml"), scope="any", new_only=False
    )
    assert asked == ["/1", "/2", "/s.xml"]
