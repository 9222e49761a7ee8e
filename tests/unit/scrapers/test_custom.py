"""Scrapers of your own: what they see of a page, and what becomes of what they give back."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.model.link import Link
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers import Broken, Found, Page, scraper, try_on
from curtsy.scrapers.custom import MOST_LINKS, MOST_RECORDS, declared, run
from curtsy.scrapers.json_values import plain
from curtsy.scrapers.page import LONGEST_LINE, MOST_LINES

URL = "http://a.example/x/"
HTML = "<!DOCTYPE html><p class=a>é</p><a href='../y?b=2&a=1#z'>y</a><a href='javascript:0'>z</a>"


def page(body: str = HTML, content_type: str = "text/html; charset=utf-8") -> Page:
    raw = body.encode()
    return Page(Reply(200, URL, {"content-type": content_type}, raw, len(raw)), {"city": "Oslo"})


def gives(returned: Any, **said: Any) -> Callable[[Page], Any]:
    return scraper(name="gives", **said)(lambda page: returned)


def outcome(returned: Any, **said: Any) -> Record | Failed:
    own = declared(gives(returned, **said))
    assert own is not None
    return run(own, Reply(200, URL, {}, b"", 0), {})


def stored(returned: Any, **said: Any) -> Any:
    record = outcome(returned, **said)
    assert isinstance(record, Record), record
    return orjson.loads(record.content)


def why_not(returned: Any) -> str:
    failed = outcome(returned)
    assert isinstance(failed, Failed), failed
    assert failed.kind == "extract_failed"
    return failed.error


def test_a_page_is_read_as_it_is_asked_for() -> None:
    seen = page()
    assert (seen.url, seen.status, seen.params) == (URL, 200, {"city": "Oslo"})
    assert seen.headers["content-type"].startswith("text/html")
    assert seen.text == HTML
    assert [node.text() for node in seen.css("p.a")] == ["é"]
    assert seen.css_first("h1") is None
    links = [seen.absolute(node.attributes.get("href")) for node in seen.css("a")]
    assert links == ["http://a.example/y?a=1&b=2", None]
    assert page('{"a": [1]}').json() == {"a": [1]}


def test_a_page_that_should_be_json_and_is_not_is_broken() -> None:
    with pytest.raises(Broken, match="not JSON"):
        page("<p>").json()


@pytest.mark.parametrize("selector", ["[href", "a:hover", "p >", ""])
def test_a_selector_that_would_be_misread_is_an_error(selector: str) -> None:
    for ask in (page().css, page().css_first):
        with pytest.raises(ValueError, match="The selector"):
            ask(selector)


def test_the_log_has_bounds() -> None:
    seen = page()
    for n in range(200):
        seen.log(f"{n} {'x' * 5_000}", "WARNING")
    assert len(seen.lines) == MOST_LINES
    assert all(len(text) <= LONGEST_LINE for _level, text in seen.lines)
    assert seen.lines[-1][1] == "151 more lines were dropped."
    with pytest.raises(ValueError, match="not a level"):
        seen.log("x", "LOUD")  # type: ignore[arg-type]


def test_a_dict_is_a_record_and_a_list_are_records() -> None:
    assert stored({"b": 1, "a": 2}) == {"a": 2, "b": 1}
    assert stored(Found(record={"a": 1})) == {"a": 1}
    for several in ([{"a": 1}, {"a": 2}], Found(records=[{"a": 1}, {"a": 2}])):
        found = stored(several)
        assert [one["fields"] for one in found["records"]] == [{"a": 1}, {"a": 2}]
        assert (found["next"], found["empty"]) == (None, False)


def test_a_scraper_may_yield_its_records() -> None:
    def several(page: Page) -> Iterator[dict[str, int]]:
        yield {"a": 1}
        yield {"a": 2}

    own = declared(scraper(several))
    assert own is not None
    record = run(own, Reply(200, URL, {}, b"", 0), {})
    assert isinstance(record, Record)
    assert len(orjson.loads(record.content)["records"]) == 2


def test_what_is_found_may_come_one_by_one_too() -> None:
    def found() -> Found:
        return Found(records=({"n": n} for n in range(2)), links=(f"/{n}" for n in range(3)))

    assert [one["fields"] for one in stored(found())["records"]] == [{"n": 0}, {"n": 1}]
    record = outcome(found())
    assert isinstance(record, Record)
    assert record.links == tuple(Link(f"http://a.example/{n}") for n in range(3))
    endless = Found(records=({"n": n} for n in count()))
    assert f"more than {MOST_RECORDS} records" in why_not(endless)
    assert "found nothing usable" in why_not(Found(records=iter(())))


def test_the_key_is_the_one_declared_or_the_url_or_everything() -> None:
    def keys(*records: dict[str, Any], **said: Any) -> list[str]:
        return [one["key"] for one in stored(list(records), **said)["records"]]

    assert keys({"id": 1, "n": 1}, key=["id"]) == keys({"id": 1, "n": 2}, key=["id"])
    assert keys({"url": "u", "n": 1}) == keys({"url": "u", "n": 2})
    assert keys({"id": 1, "n": 1}) != keys({"id": 1, "n": 2})
    assert len(keys({"id": 1}, {"id": 1}, key=["id"])) == 1


@pytest.mark.parametrize("nothing", [None, {}, [], (), Found(), Found(records=[])])
def test_nothing_is_no_success_unless_it_is_said_to_be_one(nothing: Any) -> None:
    assert "nothing usable" in why_not(nothing)


def test_an_empty_page_and_one_that_only_leads_on_are_successes() -> None:
    assert stored(Found(empty=True)) == {"records": [], "next": None, "empty": True}
    assert stored(Found(next="2")) == {"records": [], "next": f"{URL}2", "empty": False}


@pytest.mark.parametrize(
    ("returned", "word"),
    [
        (7, "returned int"),
        ("text", "returned str"),
        ([1], r"records[0] is of type int"),
        (Found(record=[1]), "The record is of type list"),  # type: ignore[arg-type]
        (Found(record={"a": 1}, records=[]), "both"),
        ({"a": b"x"}, "a is of type bytes"),
        ([{"a": 1}, {"b": {"c": [1, {2}]}}], "records[1].b.c[1] is of type set"),
        ({"price": 1j}, "price is of type complex"),
        ({"price": Decimal("Infinity")}, "price is Infinity"),
        ({"a": float("nan")}, "a is nan"),
        ({"a": 2**64}, "more than 64 bits"),
        ({"a": "\ud800"}, "half of a character"),
        ({1: 2}, "the name 1, which is not text"),
        ([{"n": n} for n in range(MOST_RECORDS + 1)], "more than 10000 records"),
    ],
)
def test_what_cannot_be_stored_is_a_failure_that_names_it(returned: Any, word: str) -> None:
    assert word in why_not(returned)


def test_what_holds_itself_is_a_failure_too() -> None:
    circle: dict[str, Any] = {}
    circle["a"] = circle
    assert "nested more than 50 deep" in why_not(circle)


def test_dates_become_text() -> None:
    moment = datetime(2026, 11, 16, 12, 30, tzinfo=UTC)
    assert stored({"a": moment, "b": date(2026, 1, 2), "c": time(1, 2)}) == {
        "a": "2026-11-16T12:30:00+00:00", "b": "2026-01-02", "c": "01:02:00",
    }  # fmt: skip


def test_links_are_made_whole_each_once_and_not_too_many() -> None:
    record = outcome(Found(record={"a": 1}, links=["b", "/c", "b#x", "mailto:x"], next="d"))
    assert isinstance(record, Record)
    assert record.links == (Link(f"{URL}b"), Link("http://a.example/c"), Link(f"{URL}d"))
    many = outcome(Found(record={"a": 1}, links=[str(n) for n in range(MOST_LINKS + 1)]))
    assert isinstance(many, Record)
    assert len(many.links or ()) == MOST_LINKS
    assert isinstance(outcome({"a": 1}), Record)
    plain_one = outcome({"a": 1})
    assert isinstance(plain_one, Record)
    assert plain_one.links is None, "all links of the page then"


ONE = {"a": 1}
FOLLOWED: list[tuple[Any, tuple[str, ...] | None]] = [
    (ONE, None), ([ONE], None), (Found(ONE), None), (Found(records=[ONE]), None),
    (Found(records=[ONE], links=None), None),
    (Found(records=[ONE], next=None), ()), (Found(ONE, next=None), ()),
    (Found(records=[ONE], next=""), ()), (Found(records=[ONE], links=None, next=None), ()),
    (Found(records=[ONE], links=[]), ()), (Found(records=[ONE], links=[], next=None), ()),
    (Found(records=[ONE], links=iter(())), ()),  # type: ignore[arg-type]
    (Found(empty=True, next=None), ()), (Found(records=[ONE], next="mailto:x"), ()),
    (Found(records=[ONE], next="2"), (f"{URL}2",)),
    (Found(records=[ONE], links=[], next="2"), (f"{URL}2",)),
    (Found(records=[ONE], links=["b"], next=None), (f"{URL}b",)),
    (Found(records=[ONE], links=("b",), next="2"), (f"{URL}b", f"{URL}2")),
]  # fmt: skip


@pytest.mark.parametrize(("returned", "followed"), FOLLOWED)
def test_next_none_and_no_links_are_followed_nowhere_and_only_silence_means_all_links(
    returned: Any, followed: tuple[str, ...] | None
) -> None:
    record = outcome(returned)
    assert isinstance(record, Record)
    expected = None if followed is None else tuple(map(Link, followed))
    assert record.links == expected, "None: all links of the page"
    found = orjson.loads(record.content)
    if "records" in found:
        assert found["next"] == (f"{URL}2" if followed and f"{URL}2" in followed else None)


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (Found(ONE, next=7), "next is of type int"),  # type: ignore[arg-type]
        (Found(ONE, links="/a"), "links is text"),
        (Found(next=None), "nothing usable"),
    ],
)
def test_a_next_that_is_no_url_and_links_that_are_no_list_are_refused(
    returned: Found, says: str
) -> None:
    assert says in why_not(returned)


def test_it_is_tried_on_a_saved_page_in_one_line(tmp_path: Path) -> None:
    saved = tmp_path / "saved.html"
    saved.write_text(HTML)

    @scraper
    def mine(page: Page) -> Found:
        return Found(records=[{"day": date(2026, 1, 2), **page.params}], links=["y"])

    found = try_on(mine, saved, url=URL, params={"a": 1})
    assert found.records == [{"day": "2026-01-02", "a": 1}]
    assert found.links == [Link(f"{URL}y")]
    assert try_on(mine, HTML.encode(), url=URL).records
    with pytest.raises(Broken, match="nothing usable"):
        try_on(gives(None), saved, url=URL)
    with pytest.raises(ValueError, match="not a scraper"):
        try_on(lambda page: None, saved, url=URL)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
    | st.dates() | st.datetimes() | st.sets(st.integers()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)  # fmt: skip


@given(VALUES)
def test_whatever_is_plain_can_be_stored_and_whatever_is_not_is_broken(value: Any) -> None:
    try:
        found = plain(value)
    except Broken as broken:
        assert str(broken).endswith(".")  # noqa: PT017 - both ends are right
    else:
        assert orjson.loads(orjson.dumps(found)) == found


def test_one_record_is_stored_with_the_key_that_was_declared() -> None:
    plainly = stored({"id": 7, "price": 1})
    assert plainly == {"id": 7, "price": 1}, "without one it is known by its page"
    cheap, dear = (stored({"id": 7, "price": price}, key=["id"]) for price in (1, 2))
    assert (cheap["price"], dear["price"]) == (1, 2)
    assert cheap["_key"] == dear["_key"] != stored({"id": 8}, key=["id"])["_key"]


def test_one_record_cannot_pass_for_several() -> None:
    for record in ({"records": 12}, {"records": [], "next": None, "empty": False, "others": 1}):
        assert stored(record) == record
    several = {"records": [{"key": "k", "fields": {}}], "next": None, "empty": False}
    assert "return Found(records=…)" in why_not(several)
