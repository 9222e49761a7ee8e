"""Pages whose metadata are made to be large, deep or harmful: bounded, quick and harmless."""

import json
import time
import unicodedata
from typing import Any

import orjson
import pytest

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.article import article
from support.wall_pages import LONG

pytestmark = pytest.mark.filterwarnings("ignore")  # what libraries say of damaged pages
MB = 1_000_000
LARGEST_RECORD = 60_000
LONGEST_SECONDS = 10.0


def ld(thing: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(thing)}</script>'


def described(**members: Any) -> str:
    return ld({"@type": "NewsArticle"} | members)


def nested(key: str, depth: int = 900) -> str:
    data = f'{{"@type": "Article", "{key}": {"[" * depth}{"]" * depth}}}'
    return f'<script type="application/ld+json">{data}</script>'


PAGES = {
    "thousands of metas": "<meta property=article:tag content=t><meta name=author content='A B'>"
    * 20_000,
    "thousands of tags": "".join(f"<meta property=article:tag content=t{n}>" for n in range(9_000)),
    "a long author": f"<meta name=author content='{'Ann ' * (MB // 4)}'>",
    "a long author in data": described(author="Ann Lee and " * 30_000),
    "many authors": described(author=[{"name": f"Ann{n} Lee"} for n in range(9_000)]),
    "long keywords": described(keywords="a," * 200_000),
    "many keywords": described(keywords=[f"word {n}" for n in range(30_000)]),
    "a long section": described(articleSection="Sport " * 60_000),
    "a long image": f"<meta property=og:image content='data:image/png;base64,{'A' * MB}'>",
    "many images": described(image=[f"data:,{n}" for n in range(30_000)]),
    "a long canonical": f"<link rel=canonical href='http://a.example/{'x' * MB}'>",
    "control characters": "<meta property=article:tag content='a\x1b[31m\x07b\u202ec\x85'>"
    "<meta name=author content='Ann\x1b]0;x\x07 Lee\u2066'>"
    "<meta property=article:section content='S\x9bport'>",
    "surrogates in data": '<script type="application/ld+json">{"@type":"Article","keywords":'
    '"a\\ud800b","author":"Ann \\udfff Lee","articleBody":"\\ud800"}</script>',
    "deep data": nested("author") + nested("image") + nested("keywords") + nested("hasPart"),
    "data in a circle": ld({"@graph": [{"@id": "#a", "mainEntity": {"@id": "#b", "mainEntity":
                                       {"@id": "#a"}}, "hasPart": {"@id": "#a"}}]}),
    "odd types": described(author=7, keywords={"a": [1]}, image=[[]], articleSection=None,
                           isAccessibleForFree={}, hasPart=[1, None], inLanguage=[[]],
                           articleBody=[], datePublished={}, breadcrumb=[3]),
    "odd breadcrumbs": ld({"@type": "BreadcrumbList", "itemListElement": [
        {"position": [], "name": {}}, 3, {"position": 1e999, "item": "x"}, {"position": "²"}]}),
    "a long trail": ld({"@type": "BreadcrumbList", "itemListElement": [
        {"position": n, "name": "Sport" * 999} for n in range(90)]}),
    "markup in a body": described(articleBody="<div>" * 50_000),
}  # fmt: skip


def outcome_of(page: str) -> Record | Failed:
    body = page.encode("utf-8", "replace")
    return article(Reply(200, "http://a.example/x", {"content-type": "text/html; charset=utf-8"},
                         body, len(body)))  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_metadata_are_bounded_quick_and_harmless(name: str) -> None:
    began = time.process_time()
    outcome = outcome_of(f"<html><head>{PAGES[name]}</head><body><article>{LONG}</article></body>")
    assert time.process_time() - began < LONGEST_SECONDS
    assert isinstance(outcome, Record), outcome
    assert len(outcome.content) < LARGEST_RECORD
    found = orjson.loads(outcome.content)
    assert len(found["tags"]) <= 30
    assert len(found["authors"]) <= 10
    words = [*found["tags"], *found["authors"], found["section"] or ""]
    assert all(len(word) <= 120 for word in words)
    steering = {c for word in words for c in word if unicodedata.category(c) in ("Cc", "Cf", "Cs")}
    assert not steering
    for url in (found["image"], found["canonical_url"]):
        assert url is None or (url.startswith("http") and len(url) < 8_000)


WALLS = {
    "passwords": "<form><input type=password></form>" * 20_000,
    "roots": "<div id=root></div>" * 20_000 + "<script src=/x></script>",
    "notices": "<noscript>Enable JavaScript</noscript>" * 20_000 + "<script src=/x></script>",
    "the word itself": "<p>" + "javascript " * 100_000 + "</p><script src=/x></script>",
    "dots": "<article><p>Text of it. </p></article>" + "<i>…</i>" * 20_000,
    "prompts": "<article><p>Text…</p></article>" + "<i>to continue reading</i>" * 20_000,
    "names": "<article><p>Text…</p></article>" + f"<i class='{'pay ' * 75}'></i>" * 3_000,
    "deep": "<div>" * 20_000 + "<input type=password>",
}


@pytest.mark.parametrize("name", WALLS)
def test_walls_of_any_size_are_recognised_quickly(name: str) -> None:
    began = time.process_time()
    outcome = outcome_of(f"<html><body>{WALLS[name]}</body>")
    assert time.process_time() - began < LONGEST_SECONDS
    assert isinstance(outcome, Failed | Record)
