"""What is not HTML is no article: each scraper says what the content is."""

import orjson
import pytest

from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.article import article
from curtsy.scrapers.links import links
from curtsy.scrapers.listing import listing
from curtsy.scrapers.media_type import media_type, media_type_of
from curtsy.scrapers.raw import raw

WORDS = "The council met on Tuesday and agreed on a plan for the harbour. " * 20
XML = "<?xml version='1.0' encoding='UTF-8'?>\n<!-- made by a machine -->\n"
SITEMAP = (
    f"{XML}<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    + "".join(f"<url><loc>http://a.example/harbour-plan/{n}</loc></url>" for n in range(60))
    + "</urlset>"
)
INDEX = (
    "<sitemapindex>"
    + "<sitemap><loc>http://a.example/harbour-plan.xml</loc></sitemap>" * 60
    + "</sitemapindex>"
)
RSS = f"{XML}<rss version='2.0'><channel><title>News</title><item><description>{WORDS}"
ATOM = f"<feed xmlns='http://www.w3.org/2005/Atom'><title>News</title><summary>{WORDS}</summary>"
RDF = f"{XML}<rdf:RDF><channel><description>{WORDS}</description></channel></rdf:RDF>"
OTHER = f"{XML}<!DOCTYPE data [<!ELEMENT data ANY>]><data><p>{WORDS}</p></data>"
JSON = orjson.dumps({"title": "Harbour", "text": WORDS}).decode()
PDF = f"%PDF-1.7\n{WORDS}"
PNG = b"\x89PNG\r\n\x1a\n" + WORDS.encode()
XHTML = f"""{XML}<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><body><article><h1>Plan</h1><p>{WORDS}</p>
<a href="/next">next</a></article></body></html>"""
RECIPE = {"recipe": {"record": "article", "fields": {"title": "h1"}}}

NOT_HTML = [
    (SITEMAP, "application/xml", "sitemap"), (SITEMAP, "text/xml", "sitemap"),
    (SITEMAP, "text/html", "sitemap"), (SITEMAP, "text/plain", "sitemap"), (SITEMAP, "", "sitemap"),
    (INDEX, "application/xml", "sitemap"), (INDEX, "text/html", "sitemap"),
    (RSS, "application/rss+xml", "feed"), (RSS, "text/xml; charset=utf-8", "feed"),
    (RSS, "text/html", "feed"), (ATOM, "application/atom+xml", "feed"), (ATOM, "text/html", "feed"),
    (RDF, "application/xml", "feed"), (OTHER, "application/xml", "<data>"),
    (OTHER, "text/xml", "<data>"), (f"<svg><p>{WORDS}</p></svg>", "image/svg+xml", "<svg>"),
    (JSON, "application/json", "json"), (JSON, "text/html", "JSON"), (JSON, "text/plain", "JSON"),
    (JSON, "", "JSON"), (f" [{JSON}]", "text/html", "JSON"),
    (PDF, "application/pdf", "application/pdf"), (PDF, "text/html", "application/pdf"),
    (PDF, "", "application/pdf"), (PNG, "image/png", "image/png"), (PNG, "text/html", "image/png"),
    (PNG, "text/plain", "image/png"), (PNG, "", "image/png"), (WORDS, "text/css", "text/css"),
    (WORDS, "application/octet-stream", "application/octet-stream"),
]  # fmt: skip


def reply(body: str | bytes, content_type: str) -> Reply:
    body = body.encode() if isinstance(body, str) else body
    headers = {"content-type": content_type} if content_type else {}
    return Reply(200, "http://a.example/x", headers, body, len(body))


@pytest.mark.parametrize(("body", "content_type", "says"), NOT_HTML)
def test_other_content_than_html_is_named_and_never_an_article(
    body: str | bytes, content_type: str, says: str
) -> None:
    page = reply(body, content_type)
    for outcome in (article(page), listing(page, RECIPE)):
        assert isinstance(outcome, Failed)
        assert outcome.kind is Kind.NOT_SUPPORTED
        if outcome.error != "The page is text/plain, not HTML.":  # which only an article may be
            assert says in outcome.error
            assert "not HTML." in outcome.error
            advises = "`curtsy crawl --" in outcome.error
            assert advises == (" is a feed" in outcome.error or " is a sitemap" in outcome.error)
    assert links(page) == ()


@pytest.mark.parametrize("content_type", [
    "text/html", "application/xhtml+xml", "application/xml", "text/xml; charset=utf-8", "",
    "TEXT/HTML", "text/html, text/html", "*/*", "nonsense",
])  # fmt: skip
def test_a_page_of_html_is_read_under_every_type_that_it_may_have(content_type: str) -> None:
    page = reply(XHTML, content_type)
    read = article(page)
    assert isinstance(read, Record), read
    assert WORDS.strip() in orjson.loads(read.content)["text"]
    found = listing(page, RECIPE)
    assert isinstance(found, Record), found
    assert orjson.loads(found.content)["records"][0]["fields"] == {"title": "Plan"}
    assert links(page) == ("http://a.example/next",)


def test_plain_text_is_an_article_as_it_stands() -> None:
    text = f"A < B & C, <not a tag>.\n\n{WORDS.strip()}"
    read = article(reply(text, "text/plain"))
    assert isinstance(read, Record), read
    assert orjson.loads(read.content)["text"] == text
    assert links(reply(text, "text/plain")) == ()


def test_html_that_begins_like_json_is_html() -> None:
    read = article(reply(f"[Advertisement] {XHTML}", "text/html"))
    assert isinstance(read, Record), read


@pytest.mark.parametrize(("body", "content_type", "kind"), [
    (b"x", "Text/HTML ; charset=x", "text/html"), (b"x", "text/html, image/png", "image/png"),
    (b"x", "text/html, nonsense", "text/html"), (b"", "", "text/plain"),
    (b"\xef\xbb\xbf <!doctype HTML>", "", "text/html"), (b"\xff\xfe<\0p\0>\0", "", "text/html"),
    (b"a\0b", "unknown/unknown", "application/octet-stream"), (b"plain", "*/*", "text/plain"),
    (b"GIF89a", "", "image/gif"), (b"PK\x03\x04", "", "application/zip"),
])  # fmt: skip
def test_the_type_is_that_of_the_header_else_what_the_body_looks_like(
    body: bytes, content_type: str, kind: str
) -> None:
    assert media_type_of(content_type, body) == kind
    assert raw(reply(body, content_type)).content_type == kind


def test_a_header_that_says_nothing_is_no_type() -> None:
    assert [media_type(text) for text in (None, "", ";", "*/*", "text", "a b/c")] == [""] * 6


def test_a_long_prolog_takes_no_time() -> None:
    for piece in ("<?x?>", "<!---->", "<!doctype x>", "<!", " ", "<!--", "<?"):
        assert isinstance(article(reply(piece * 100_000, "text/xml")), Failed)
