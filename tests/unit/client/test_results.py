"""Rows of a job's results as objects with types."""

from typing import Any

from curtsy.cli.views.records import as_markdown, as_text, record_of
from curtsy.client.results import Article, RecordRow, records_in, result_of
from curtsy.scrapers.articles.extraction import NOTHING

ROW: dict[str, Any] = {
    "article_id": "art_1", "url": "http://a.example/1", "source": None, "category": None,
    "scraped_at": "2026-11-19T22:00:00Z", "cached": False,
}  # fmt: skip


def test_an_article_has_every_field_that_the_scraper_finds() -> None:
    found = dict(NOTHING) | {"authors": ["A", "B"], "tags": ["t"], "paywall": True,
                            "published_at": "2026-11-19T08:00:00"}  # fmt: skip
    del found["text"]
    one = result_of(ROW | {"title": "T", "content": "text"} | found)
    assert isinstance(one, Article)
    assert (one.authors, one.tags, one.paywall) == (("A", "B"), ("t",), True)
    assert one.published_at == "2026-11-19T08:00:00"
    assert [name for name in found if not hasattr(one, name)] == []


def test_an_article_that_an_older_scraper_read_has_them_empty() -> None:
    one = result_of(ROW | {"title": "T", "content": "text"})
    assert isinstance(one, Article)
    assert (one.authors, one.tags, one.paywall, one.image) == ((), (), False, None)


def test_a_record_says_where_redirects_led() -> None:
    one = result_of(ROW | {"record_key": "k", "record": {"a": 1}, "found_at": "http://b.example/"})
    assert isinstance(one, RecordRow)
    assert one.found_at == "http://b.example/"
    assert records_in(one) == [{"a": 1}]


def test_a_record_that_cannot_be_written_hurts_no_reader() -> None:
    row = ROW | {"record_key": None, "record": None}
    one = result_of(row)
    assert isinstance(one, RecordRow)
    assert (one.record, one["record"]) == ({}, None)
    assert records_in(one) == []
    shown = record_of(row)
    assert shown is not None
    assert shown == {}
    assert as_text(shown) == as_markdown(shown) == ""
