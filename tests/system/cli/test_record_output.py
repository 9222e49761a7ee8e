"""Records as people read them: aligned lines, or a list in Markdown; and counts of pages."""

import io
from typing import Any

import pytest

from curtsy.cli.views.records import as_markdown, as_text, record_of
from curtsy.cli.views.results import Form, Writer, Written

PAGE = {"url": "http://a.example/list", "record_key": "k", "source": None}
FIRST = {"title": "One", "price": 1.5, "sizes": [1, "L"], "note": None, "sold": True}


def row(page: str, record: dict[str, Any]) -> dict[str, Any]:
    return {**PAGE, "article_id": page, "record": record}


def written(form: Form, *results: dict[str, Any]) -> str:
    to = io.TextIOWrapper(io.BytesIO(), "utf-8")
    writer = Writer(form, to, None)
    for result in results:
        writer.write(result)
    to.seek(0)
    return to.read()


def test_values_are_aligned_behind_their_names() -> None:
    assert as_text(FIRST) == 'title: One\nprice: 1.5\nsizes: [1,"L"]\nnote:\nsold:  true'
    long = {"n" * 31: 1, "a": 2, "日本": 3}
    assert as_text(long) == f"{'n' * 31}: 1\na:    2\n日本: 3"


def test_the_records_of_a_page_stand_under_its_url() -> None:
    text = written(Form.TEXT, row("p1", {"a": 1}), row("p1", {"a": 2}), row("p2", {"a": 3}))
    url = PAGE["url"]
    assert text == f"{url}\n\na: 1\n\na: 2\n\n{url}\n\na: 3\n"
    markdown = written(Form.MARKDOWN, row("p1", {"a": 1}), row("p1", {"a": 2}))
    assert markdown == f"## {url}\n\n- **a**: 1\n\n- **a**: 2\n"


def test_a_record_in_json_is_one_line() -> None:
    text = written(Form.JSON, row("p1", {"b": 1, "a": 2}))
    assert text.endswith('"record":{"b":1,"a":2}}\n')
    assert text.count("\n") == 1


def test_a_record_of_a_run_is_shown_with_its_change_and_without_its_key() -> None:
    sighting = {"title": "One", "_change": "new", "_key": "k"}
    assert written(Form.TEXT, sighting) == "title:   One\n_change: new\n"


@pytest.mark.parametrize("show", [as_text, as_markdown])
def test_names_and_values_of_pages_steer_no_terminal_and_break_no_line(show: Any) -> None:
    hostile = {"a\nb\x1b[2J": "x\r\n- y\u202e", "": {"\x07": "\u2028"}}
    shown = show(hostile)
    assert len(shown.splitlines()) == 2
    assert not {"\x1b", "\x07", "\r", "\u202e", "\u2028"} & set(shown)


def test_markdown_in_values_is_text() -> None:
    assert as_markdown({"a*": "[x](http://y) <b>`"}) == (
        r"- **a\*\***: \[x\](http://y) \<b\>\`".replace(r"\*\***", r"\***")
    )


def test_the_records_of_a_page_count_as_one_page() -> None:
    counted = Written()
    for page in ("p1", "p1", "p2"):
        counted.add(row(page, {}))
    counted.add({"article_id": "p3", "content": ""})
    counted.add({"_key": "k"})
    counted.add({"_key": "l"})
    assert counted.done == 5


def test_a_page_is_no_record_whatever_its_fields() -> None:
    assert record_of({"article_id": "p", "content": "x", "record": 1}) is None
    assert record_of({"error": "x"}) is None
