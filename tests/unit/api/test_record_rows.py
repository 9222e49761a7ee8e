"""Rows of results: what a page with many records, or with odd ones, becomes."""

from itertools import count
from typing import Any

import orjson
import pytest
import zstandard

from curtsy.api.schemas.results import CHUNK_BYTES, as_document_since, lines_of, rows_of
from curtsy.jobs.job import Job as JobRow
from curtsy.jobs.job import StoredDocument
from curtsy.jobs.results import EndedItem, Piece, ResultPlace
from curtsy.jobs.results_since import EndedSince
from curtsy.model.content_digest import content_digest, is_digest
from curtsy.model.job_states import ItemState
from curtsy.scrapers.record_keys import pack_listing

START = ResultPlace()


def item(position: int, content: bytes, scraper: str = "goods") -> EndedItem:
    packed = zstandard.ZstdCompressor().compress(content)
    document = StoredDocument(packed, "application/json", "utf-8", len(content))
    url = f"http://a.example/{position}"
    return EndedItem(10 + position, position, position + 1, ItemState.DONE, url, None, None, False,
                     None, None, 1_000, 1_000, scraper, url, url, document)  # fmt: skip


def failed(position: int) -> EndedItem:
    return item(position, b"{}")._replace(state=ItemState.FAILED, document=None, error="No.",
                                          kind="gone")  # fmt: skip


def listing(number: int, **more: Any) -> bytes:
    records = [{"key": f"k{n}", "fields": {"n": n, **more}} for n in range(number)]
    return pack_listing(records, following=None, is_empty=not number)


def numbers(fragments: Any) -> list[int]:
    return [row["record"]["n"] for row in orjson.loads(orjson.dumps(fragments))]


def test_a_cursor_names_the_record_at_which_a_page_was_cut() -> None:
    piece = Piece([item(0, listing(3)), item(1, listing(0)), failed(2), item(3, listing(4))], True)
    found, place, empty, failures = [], START, 0, 0
    for _ in count():
        items = [one for one in piece.items if one.position > place.after]
        rows = rows_of(Piece(items, piece.more), place, 2)
        assert len(rows.done) + len(rows.failed) == 2
        found += numbers(rows.done)
        empty, failures = empty + rows.empty, failures + len(rows.failed)
        assert rows.onward is not None
        place = ResultPlace.parse(str(rows.onward))
        if place == ResultPlace(3):
            break
    assert (found, empty, failures) == ([0, 1, 2, 0, 1, 2, 3], 1, 1)


def test_pages_may_stay_whole_for_readers_that_go_on_by_pages() -> None:
    piece = Piece([item(0, listing(3)), item(1, listing(5)), item(2, listing(1))], False)
    rows = rows_of(piece, START, 4, whole_pages=True)
    assert (numbers(rows.done), rows.pages) == ([0, 1, 2, 0, 1, 2, 3, 4], 2)
    assert str(rows.onward) == "2-0"
    assert rows_of(piece, START, 4).pages == 1


def test_results_since_an_event_go_on_after_the_last_page_that_they_have() -> None:
    job = JobRow(*([0] * len(JobRow._fields)))._replace(state="running", door="crawl")
    found = EndedSince(Piece([item(0, listing(3)), item(1, listing(5)), item(2, b"{}")], False), 99)
    for most, rows, last in ((1, 3, 10), (4, 8, 11), (9, 9, 99)):
        body = orjson.loads(as_document_since(job, found, most))
        assert (len(body["results"]), body["last_event"]) == (rows, last)
    nothing = EndedSince(Piece([], False), 7)
    assert orjson.loads(as_document_since(job, nothing, 5))["last_event"] == 7


@pytest.mark.parametrize(("cursor", "after", "read"), [("7", 7, 0), ("7-3", 6, 3), ("0-0", -1, 0)])
def test_a_cursor_is_read_as_it_was_written(cursor: str, after: int, read: int) -> None:
    place = ResultPlace.parse(cursor)
    assert (str(place), place.after, place.read_of(7 if "7" in cursor else 0)) == (
        cursor, after, read,
    )  # fmt: skip
    assert ResultPlace.parse(None).after == -1


def test_many_small_records_come_in_chunks() -> None:
    chunks = [*lines_of(Piece([item(0, listing(10_000))], False), START)]
    assert len(chunks) > 5
    assert max(map(len, chunks)) < CHUNK_BYTES + 1_000
    lines = b"".join(chunks).splitlines()
    assert [orjson.loads(line)["record"]["n"] for line in lines] == list(range(10_000))


DEEP = b'{"a":' + b"[" * 400 + b"]" * 400 + b"}"
HALF = b'{"a":"\\ud800","b":"' + b"x" * 2**20 + b'"}'
HUGE = b'{"a":1' + b"0" * 30 + b',"b":"' + b"x" * 2**20 + b'"}'


@pytest.mark.parametrize("content", [DEEP, HALF, HUGE], ids=["deep", "half", "huge"])
def test_what_cannot_be_written_costs_only_its_row(content: bytes) -> None:
    """A scraper may disturb its own process and store anything."""
    rows = rows_of(Piece([item(0, content), item(1, listing(1))], False), START, 10)
    first, second = orjson.loads(orjson.dumps(rows.done))
    assert (first["record"], second["record"]) == (None, {"n": 0})


@pytest.mark.parametrize("content", [b"not JSON", b"[1, 2]", b"\xff\xfe", b""])
def test_what_is_no_page_of_records_is_shown_as_it_is(content: bytes) -> None:
    rows = rows_of(Piece([item(0, content)], False), START, 10)
    [row] = orjson.loads(orjson.dumps(rows.done))
    assert "record" not in row
    assert isinstance(row["content"], str)


def test_json_that_a_site_served_is_a_page_and_not_records() -> None:
    rows = rows_of(Piece([item(0, listing(2), "raw")], False), START, 10)
    [row] = orjson.loads(orjson.dumps(rows.done))
    assert row["content"] == listing(2).decode()


def test_a_digest_has_one_form() -> None:
    assert is_digest(content_digest(b"x", "application/json", None))
    for other in ("", "x" * 23, "x" * 21 + "\n", "é" * 22, 7, ["x"] * 22, None):
        assert not is_digest(other)
