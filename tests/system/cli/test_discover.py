"""`curtsy discover`: what a site offers, read from a real server by the whole engine."""

import gzip
import http.server
import json
import sqlite3
import threading
from collections.abc import Iterator

import pytest

from cli.conftest import Curtsy

SITEMAP = "<urlset>{}</urlset>"
ENTRY = "<url><loc>{}/{}</loc><lastmod>2026-11-{:02}</lastmod></url>"


class Offering(http.server.ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Offering

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = self.server.pages.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def site() -> Iterator[Offering]:
    with Offering() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def news(site: Offering) -> Offering:
    """A site with a feed, an index of two sitemaps, and pages that discovery does not fetch."""
    entries = "".join(ENTRY.format(site.url, n, n) for n in range(1, 4))
    site.pages |= {
        "/": b"<title>News</title>"
             b"<link rel=alternate type=application/rss+xml href=/rss title=All>",
        "/rss": b"<rss><channel><title>The news</title><item><link>/1</link>"
                b"<pubDate>Thu, 19 Nov 2026 10:00:00 GMT</pubDate></item></channel></rss>",
        "/robots.txt": f"User-agent: *\nDisallow: /rss-not\nSitemap: {site.url}/index.xml".encode(),
        "/index.xml": f"<sitemapindex><sitemap><loc>{site.url}/a.xml.gz</loc></sitemap>"
                      f"<sitemap><loc>{site.url}/b.txt</loc></sitemap></sitemapindex>".encode(),
        "/a.xml.gz": gzip.compress(SITEMAP.format(entries).encode()),
        "/b.txt": f"{site.url}/4\n{site.url}/5\n".encode(),
    }  # fmt: skip
    return site


def test_feeds_and_sitemaps_are_listed_with_counts_and_dates(quick: Curtsy, news: Offering) -> None:
    told = quick("discover", news.url, "--json")
    assert told.exit_code == 0, told
    found = {one["url"].removeprefix(news.url): one for one in told.json["lists"]}
    assert set(found) == {"/rss", "/index.xml", "/a.xml.gz", "/b.txt"}
    rss, index, packed, text = (found[url] for url in ("/rss", "/index.xml", "/a.xml.gz", "/b.txt"))
    assert (rss["kind"], rss["title"], rss["entries"]) == ("rss", "The news", 1)
    assert (index["kind"], index["entries"], len(index["parts"])) == ("sitemap index", 0, 2)
    assert (packed["entries"], packed["newest_at"], packed["oldest_at"]) == (
        3, "2026-11-03T00:00:00Z", "2026-11-01T00:00:00Z",
    )  # fmt: skip
    assert (text["kind"], text["entries"], text["newest_at"]) == ("text sitemap", 2, None)
    assert (told.json["failed"], told.json["not_read"]) == ([], 0)
    assert set(news.asked) == {*news.pages, "/sitemap.xml"}, "no entry is fetched"


def test_as_a_table_it_says_how_to_go_on(quick: Curtsy, news: Offering) -> None:
    told = quick("discover", f"{news.url}/")
    assert told.exit_code == 0, told
    head, *rows = told.out.splitlines()
    assert head.split() == ["Kind", "Title", "Entries", "Newest", "Oldest", "Address"]
    assert len(rows) == 4
    assert "The news" in told.out
    assert f"curtsy crawl --feed {news.url}/rss" in told.err


def test_what_is_beyond_the_limit_is_counted(quick: Curtsy, news: Offering) -> None:
    told = quick("discover", news.url, "--max-lists", "2")
    assert "2 more were named and not read" in told.err, told


def test_a_site_without_lists_is_no_failure(quick: Curtsy, site: Offering) -> None:
    site.pages["/"] = b"<title>Bare</title><p>Nothing"
    told = quick("discover", site.url)
    assert (told.exit_code, told.out) == (0, ""), told
    assert f"No feed and no sitemap of {site.url}" in told.err
    assert quick("dead-letters").out == "There are no dead letters.\n"


def test_robots_txt_is_obeyed_and_may_itself_be_read(quick: Curtsy, news: Offering) -> None:
    news.pages["/robots.txt"] = b"User-agent: *\nDisallow: /\nSitemap: " + news.url.encode() + b"/x"
    told = quick("discover", f"{news.url}/", "--json")
    assert set(news.asked) == {"/robots.txt"}
    assert told.exit_code == 4
    denied = "The host's robots.txt does not allow this page."
    assert {one["url"].removeprefix(news.url): one["error"] for one in told.json["failed"]} == {
        "/": denied, "/sitemap.xml": denied, "/x": denied,
    }  # fmt: skip


def test_a_crawl_may_start_from_feeds_and_sitemaps(quick: Curtsy, news: Offering) -> None:
    feed, index = f"{news.url}/rss", f"{news.url}/index.xml"
    told = quick("crawl", "--feed", feed, "--sitemap", index, "--all", "--json")
    assert told.exit_code == 0, told
    with sqlite3.connect("curtsy.db") as database:
        [(params, depth)] = database.execute(
            "SELECT j.params, c.depth FROM jobs j JOIN crawls c ON c.job_id = j.id"
        )
    database.close()
    assert json.loads(params)["start"] == {"feed": [feed], "sitemap": [index], "new_only": False}
    assert depth == 0
    assert "--all is for" in quick("crawl", news.url, "--all").sentence(2)
    assert "There are no URLs" in quick("crawl").sentence(2)


def test_a_schedule_may_start_from_feeds_and_sitemaps(quick: Curtsy, news: Offering) -> None:
    quick("db", "upgrade")
    feed, more = f"{news.url}/rss", ("--feed", f"{news.url}/rss", "--json")
    told = quick("schedules", "add", "a", "--every", "2h", *more)
    assert told.json["payload"] == {
        "crawl": {"spider": "article", "depth": 0, "start": {"feed": [feed]}}
    }
    told = quick("schedules", "add", "b", "--every", "2h", "--crawl", news.url, "--all", *more)
    assert told.json["payload"]["crawl"]["start"] == {"feed": [feed], "new_only": False}
    assert told.json["payload"]["crawl"]["depth"] == 1
    told = quick(
        "schedules", "edit", "b", "--sitemap", f"{news.url}/s.xml", "--depth", "2", "--json"
    )
    assert told.json["payload"]["crawl"] == {
        "spider": "article", "depth": 2, "start": {"sitemap": [f"{news.url}/s.xml"]}
    }  # fmt: skip
    wrong = quick("schedules", "add", "c", "--every", "2h", "--fetch", news.url, *more)
    assert "Give only one of" in wrong.sentence(2)
