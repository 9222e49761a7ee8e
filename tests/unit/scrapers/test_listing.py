"""Listings: records by a recipe, and a page that breaks it told apart from an empty one."""

import time
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curtsy.model.failure_kinds import Kind
from curtsy.model.link import Link
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.listing import MOST_RECORDS, listing

BOOKS = {
    "record": "article", "list": "section.books", "empty": ".no-results", "next": "li.next",
    "fields": {
        "title": {"css": "h3 a", "attribute": "title", "required": True},
        "url": {"css": "h3 a", "kind": "url"},
        "price": {"css": ".price", "kind": "number"},
        "in_stock": {"css": ".stock", "kind": "flag"},
        "tags": {"css": ".tag", "many": True},
        "id": {"attribute": "id", "pattern": r"book-(\d+)"},
    },
}  # fmt: skip


def book(number: int, **but: str) -> str:
    parts = {
        "title": f"<h3><a href='../b/{number}?z=1&a=2#top' title='Book {number}'>Bo…</a></h3>",
        "price": f"<p class=price>£{number}.50</p>",
        "stock": "<i class=stock></i>",
        "tags": "<b class=tag>a</b><b class=tag>b</b>",
    } | but
    return f"<article id=book-{number}>{''.join(parts.values())}</article>"


def page(*books: str, after: str = "") -> str:
    return (
        f"<!DOCTYPE html><title>Books</title><section class=books>{''.join(books)}</section>{after}"
    )


def reply(html: str, content_type: str = "text/html") -> Reply:
    body = html.encode()
    return Reply(200, "http://a.example/list/1", {"content-type": content_type}, body, len(body))


def read(html: str, **changes: Any) -> Record | Failed:
    return listing(reply(html), {"recipe": BOOKS | changes})


def found(html: str, **changes: Any) -> dict[str, Any]:
    record = read(html, **changes)
    assert isinstance(record, Record), record
    assert (record.content_type, record.charset) == ("application/json", "utf-8")
    said: dict[str, Any] = orjson.loads(record.content)
    return said


def why_not(html: str, **changes: Any) -> str:
    failed = read(html, **changes)
    assert isinstance(failed, Failed), failed
    assert failed.kind is Kind.EXTRACT_FAILED
    return failed.error


def lines_of(html: str, **changes: Any) -> list[str]:
    record = read(html, **changes)
    assert isinstance(record, Record), record
    return [text for _level, text in record.lines]


def test_records_have_the_fields_of_the_recipe() -> None:
    said = found(page(book(1), book(2, stock="", tags=""), after="<li class=next><a href=2>n</a>"))
    assert said["next"] == "http://a.example/list/2"
    assert said["empty"] is False
    first, second = (record["fields"] for record in said["records"])
    assert first == {
        "title": "Book 1", "url": "http://a.example/b/1?a=2&z=1", "price": 1.5, "in_stock": True,
        "tags": ["a", "b"], "id": "1",
    }  # fmt: skip
    assert (second["in_stock"], second["tags"]) == (False, [])


def test_the_only_link_is_the_next_page() -> None:
    with_next = read(page(book(1), after="<li class=next><a href=2>n</a>"))
    assert isinstance(with_next, Record)
    assert with_next.links == (Link("http://a.example/list/2"),)
    for html in (page(book(1)), page(book(1), after="<li class=next><a href=1>n</a>")):
        last = read(html)
        assert isinstance(last, Record)
        assert last.links == (), "not the page itself either"


def test_the_key_stays_while_the_other_fields_change() -> None:
    [before] = found(page(book(1)))["records"]
    [after] = found(page(book(1, price="<p class=price>£9")))["records"]
    assert before["key"] == after["key"]
    assert len(before["key"]) == 22
    assert before["fields"]["price"] != after["fields"]["price"]
    [other] = found(page(book(2)))["records"]
    assert other["key"] != before["key"]


def test_records_without_a_key_field_are_told_apart_by_all_they_have() -> None:
    no_link = "<h3><a title='{}'>x</a></h3>"
    html = page(*(book(n, title=no_link.format(n)) for n in (1, 2)))
    assert len({record["key"] for record in found(html)["records"]}) == 2


def test_of_two_records_with_the_same_key_the_first_is_kept_and_the_log_says_so() -> None:
    html = page(book(1), book(1, price="<p class=price>£9"), book(2))
    assert [r["fields"]["price"] for r in found(html)["records"]] == [1.5, 2.5]
    assert lines_of(html) == [
        "1 of 3 records have the key of an earlier one on the page and were left out."
    ]


def test_an_empty_result_is_told_by_its_sign_or_by_a_list_without_records() -> None:
    for html in (page(), "<p class=no-results>Nothing found</p>"):
        said = found(html)
        assert (said["records"], said["empty"]) == ([], True)
    both = page(book(1), after="<p class=no-results>")
    assert found(both)["empty"] is True
    assert "Both empty and 1 record are on the page" in lines_of(both)[0]


def test_a_page_where_nothing_matches_is_broken_and_says_which_selectors() -> None:
    for html in ("<p>Are you human?</p>", "", "<title>x"):
        told = why_not(html)
        for word in ("'article'", "'section.books'", "'.no-results'", "may have changed"):
            assert word in told
    assert "add list or empty to the recipe" in why_not("<p>x", list=None, empty=None)


def test_records_outside_of_a_list_that_is_missing_do_not_count() -> None:
    assert "not in list ('section.books')" in why_not(book(1))


def test_few_records_without_a_required_field_are_left_out_and_many_break_the_page() -> None:
    good, bad = [book(n) for n in range(2)], [book(n, title="<h3>") for n in range(2, 5)]
    assert len(found(page(*good, *bad[:2]))["records"]) == 2
    assert (
        "2 of 4 records lack a required field, most often title"
        in lines_of(page(*good, *bad[:2]))[0]
    )
    assert "3 of 5 records lack a required field, most often title" in why_not(page(*good, *bad))


def test_two_required_fields_that_are_lacking_in_turns_break_the_page_as_well() -> None:
    fields = {
        "title": {"css": "h3", "required": True},
        "price": {"css": ".price", "required": True},
    }
    html = page(book(1, title=""), book(2, price=""))
    assert "2 of 2 records lack a required field" in why_not(html, fields=fields)


def test_there_is_an_end_to_the_records_of_a_page() -> None:
    html = page(*(book(n) for n in range(MOST_RECORDS + 5)))
    assert len(found(html)["records"]) == MOST_RECORDS
    assert f"more than {MOST_RECORDS} records" in lines_of(html)[0]
    assert len(found(html, list=None)["records"]) == MOST_RECORDS


def test_links_are_relative_to_where_the_page_says() -> None:
    [record] = found(f"<base href=http://b.example/x/>{page(book(1))}")["records"]
    assert record["fields"]["url"] == "http://b.example/b/1?a=2&z=1"


def test_null_characters_are_left_out() -> None:
    html = page(book(1, title="<h3><a href=x title='Bo\0ok'>x</a></h3>"))
    assert found(html)["records"][0]["fields"]["title"] == "Book"


def test_what_is_not_html_is_not_read() -> None:
    failed = listing(reply("{}", "application/json"), {"recipe": BOOKS})
    assert isinstance(failed, Failed)
    assert failed.kind is Kind.NOT_SUPPORTED


@pytest.mark.parametrize("params", [{}, {"recipe": None}, {"recipe": {"record": "["}}])
def test_without_a_usable_recipe_nothing_is_read(params: dict[str, Any]) -> None:
    failed = listing(reply(page()), params)
    assert isinstance(failed, Failed)
    assert failed.kind is Kind.NOT_SUPPORTED
    assert "no usable recipe" in failed.error


BITS = st.sampled_from([
    "<article>", "</article>", "<section class=books>", "</section>", "<h3>", "<a href=",
    "<a title=x href='http://[' >", "'", '"', ">", "<", "&#xD800;", "&#0;", "\0", "\ufeff", "é",
    "<base href='//'>", "<li class=next>", "<svg>", "<math>", "<template>", "<table><tr>",
    "<select>", "</html>", "<!--", "-->", "<![CDATA[", "<p class=price>1e999 12,34,56", "<script>",
    "<a href=javascript:x>", "<p class=no-results>", "<frameset>", "<plaintext>", "\u2028",
])  # fmt: skip


@settings(max_examples=300)
@given(st.lists(BITS | st.text(max_size=5), max_size=30).map("".join))
def test_no_page_makes_it_fail_in_another_way_than_by_saying_so(html: str) -> None:
    outcome = read(html)
    if isinstance(outcome, Record):
        assert set(orjson.loads(outcome.content)) == {"records", "next", "empty"}
    else:
        assert outcome.error.endswith(".")


def test_a_deep_page_is_read_up_to_the_depth() -> None:
    """The parser's time is elements times depth: all of this page would take many seconds."""
    began = time.process_time()
    deep = page(book(1), book(2)) + "<div><ul><li>" * 40_000 + book(3)
    assert len(found(deep)["records"]) == 2
    assert any("nests more than" in line for line in lines_of(deep))
    assert time.process_time() - began < 2
