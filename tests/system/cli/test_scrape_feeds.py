"""`curtsy scrape --feed` and `--sitemap` against a paper with both."""

import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from cli.conftest import Curtsy

SENTENCES = "<p>A story of several sentences, told at some length so that it is one.</p>" * 12


@dataclass
class Paper:
    url: str = ""
    articles: list[str] = field(default_factory=lambda: ["1", "2", "3"])
    requested: list[str] = field(default_factory=list)

    def answer(self, path: str) -> tuple[int, str, str]:
        if path == "/feed.xml":
            return 200, "application/rss+xml", self._feed()
        if path == "/sitemap.xml":
            return 200, "application/xml", self._sitemap()
        if path.removeprefix("/story/") in self.articles:
            return (
                200,
                "text/html",
                (
                    f"<html lang=en><title>Story {path}</title><article>"
                    f"<h1>Story {path}</h1>{SENTENCES}</article></html>"
                ),
            )
        return 404, "text/plain", "missing"

    def story(self, name: str) -> str:
        return f"{self.url}/story/{name}"

    def _feed(self) -> str:
        items = "".join(f"<item><title>{n}</title><link>{self.story(n)}</link>"
                        f"<guid>{self.story(n)}</guid></item>" for n in self.articles)  # fmt: skip
        return (
            f'<?xml version="1.0"?><rss version="2.0"><channel><title>Paper</title>'
            f"<link>{self.url}/</link><description>d</description>{items}</channel></rss>"
        )

    def _sitemap(self) -> str:
        urls = "".join(f"<url><loc>{self.story(n)}</loc></url>" for n in self.articles)
        return (
            '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            f"{urls}</urlset>"
        )


@pytest.fixture
def paper() -> Iterator[Paper]:
    paper = Paper()

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paper.requested.append(self.path)
            status, kind, text = paper.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        paper.url = f"http://127.0.0.1:{server.server_port}"
        yield paper
        server.shutdown()


@pytest.mark.parametrize(("option", "path"), [("--feed", "feed.xml"), ("--sitemap", "sitemap.xml")])
def test_each_run_prints_what_is_new(quick: Curtsy, paper: Paper, option: str, path: str) -> None:
    where = f"{paper.url}/{path}"
    told = quick("scrape", option, where, "--json")
    assert told.exit_code == 0, told
    assert sorted(line["url"] for line in told.lines_of_json) == list(map(paper.story, "123"))
    assert told.err.splitlines()[-1] == f"3 new pages from 1 {option[2:]}."
    told = quick("scrape", option, where, "--json")
    assert (told.exit_code, told.out) == (0, "")
    assert told.err.splitlines()[-1] == f"0 new pages from 1 {option[2:]}."
    paper.articles.append("4")
    told = quick("scrape", option, where, "--json", "--new-only")
    assert [line["url"] for line in told.lines_of_json] == [paper.story("4")]
    told = quick("scrape", option, where, "--json", "--all")
    assert sorted(line["url"] for line in told.lines_of_json) == list(map(paper.story, "1234"))
    assert told.err.splitlines()[-1] == f"4 pages from 1 {option[2:]}."


def test_a_feed_that_is_missing_is_a_failure(quick: Curtsy, paper: Paper) -> None:
    told = quick("scrape", "--feed", f"{paper.url}/none.xml", "--json")
    assert told.exit_code == 4
    assert [line["url"] for line in told.lines_of_json] == [f"{paper.url}/none.xml"]


def test_max_pages_bounds_what_is_fetched(quick: Curtsy, paper: Paper) -> None:
    told = quick("scrape", "--feed", f"{paper.url}/feed.xml", "--max-pages", "3", "--json")
    assert len(told.lines_of_json) == 2, "the feed is the third"
    assert sum(path.startswith("/story/") for path in paper.requested) == 2
