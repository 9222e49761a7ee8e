"""Reads a job's results, which are its ended items in order, in pieces of bounded size.

A page may have thousands of records, each a result. A place among the results is a page and how
many of its records were read.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from curtsy.jobs.job import StoredDocument
from curtsy.model.job_states import ItemState
from curtsy.store import Connection, Statement

AT_ONCE = 200
BYTES_AT_ONCE = 16 * 2**20
"""A piece has at most so many items, and no item after contents of so many bytes."""
LIGHT_BYTES = 64 * 2**10
PAGES_OF_MANY = 10
"""Pages are read at once where pages have so many records that one response had to be cut."""


def _statement(items: str, **tables: dict[str, str]) -> Statement:
    """Reads these items with their documents, by `rank`. `items` is SQL; it says what a result is:
    a failed or cancelled page, and a scraped page that the job keeps."""
    return Statement(
        f"""
        SELECT found.*, c.content FROM (
            SELECT i.rank, i.position, i.page_id, i.state, coalesce(i.url, p.url) AS url,
                   p.url AS page_url, i.source_label, i.category, i.cached, i.kind, i.error,
                   i.fetched_at, i.ended_at,
                   p.scraper, d.version, d.content_type, d.charset, d.bytes, d.url AS found_at,
                   sum(coalesce(d.bytes, 0)) OVER (ORDER BY i.rank) - coalesce(d.bytes, 0)
                       AS bytes_before
            FROM ({items}) i
            JOIN pages p ON p.id = i.page_id
            LEFT JOIN documents d ON d.page_id = i.page_id AND d.version = i.document_version
        ) found
        LEFT JOIN documents c ON c.page_id = found.page_id AND c.version = found.version
            AND found.bytes_before < :most_bytes
        ORDER BY found.rank
        """,  # noqa: S608
        **tables,
    )


_IS_RESULT = "state <> 0 AND (state <> 1 OR (uses & 1) = 1)"
_IN_ORDER = _statement(
    f"""SELECT items.*, position AS rank FROM items
        WHERE job_id = :job_id AND position > :after AND {_IS_RESULT}
        ORDER BY position LIMIT :most"""  # noqa: S608
)
_AT_POSITIONS = _statement(
    f"""SELECT items.*, w.rank FROM (SELECT * FROM {{wanted}}) w
        JOIN items ON items.job_id = :job_id AND items.position = w.position
        WHERE {_IS_RESULT}""",  # noqa: S608
    wanted={"rank": "bigint", "position": "int"},
)


class EndedItem(NamedTuple):
    rank: int
    """The position, or the event, that orders the results."""
    position: int
    page_id: int
    state: int
    url: str
    source_label: str | None
    category: str | None
    cached: bool
    kind: str | None
    error: str | None
    fetched_at: int | None
    ended_at: int
    scraper: str
    found_at: str | None
    """The URL of the document, after redirects."""
    page_url: str
    """In canonical form; `url` is as the client spelled it."""
    document: StoredDocument | None

    @property
    def is_success(self) -> bool:
        return self.state == ItemState.DONE


class ResultPlace(NamedTuple):
    """Where the next result is: behind this page, or within it behind some of its records."""

    position: int = -1
    read: int | None = None
    """Records of the page that were read; None: all."""

    @classmethod
    def parse(cls, cursor: str | None) -> Self:
        """Parses a cursor, whose form was checked."""
        if cursor is None:
            return cls()
        position, _dash, read = cursor.partition("-")
        return cls(int(position), int(read) if read else None)

    def __str__(self) -> str:
        return str(self.position) if self.read is None else f"{self.position}-{self.read}"

    @property
    def after(self) -> int:
        """The last position of which everything was read."""
        return self.position if self.read is None else self.position - 1

    def read_of(self, position: int) -> int:
        """How many records of the page at this position were read."""
        return self.read or 0 if position == self.position else 0


class Piece(NamedTuple):
    """Some ended items, in order, with the documents of those that were scraped."""

    items: list[EndedItem]
    more: bool
    """There are, or may be, more items after these."""

    @property
    def is_light(self) -> bool:
        """Small enough for the event loop to build the response."""
        documents = (item.document for item in self.items)
        return sum(found.bytes for found in documents if found is not None) <= LIGHT_BYTES

    @property
    def last(self) -> int:
        return self.items[-1].position


def ended_items(connection: Connection, job_id: int, *, place: ResultPlace, most: int) -> Piece:
    if place.read is not None:
        most = min(most, PAGES_OF_MANY)
    found = _IN_ORDER(connection, job_id=job_id, after=place.after, most=most + 1,
                      most_bytes=BYTES_AT_ONCE).all()  # fmt: skip
    items = _items(found[:most])
    return Piece(items, more=len(found) > len(items))


def ended_at_positions(
    connection: Connection, job_id: int, wanted: Sequence[tuple[int, int]]
) -> Piece:
    """The ended items at these positions of the job; `wanted` has pairs of a rank and a position.
    They come by rank, and those after contents of too many bytes are left out."""
    if not wanted:
        return Piece([], more=False)
    found = _AT_POSITIONS(connection, job_id=job_id, wanted=wanted, most_bytes=BYTES_AT_ONCE).all()
    items = _items(found)
    return Piece(items, more=len(found) > len(items))


def _items(rows: Sequence[Any]) -> list[EndedItem]:
    return [
        EndedItem(
            row.rank, row.position, row.page_id, row.state, row.url, row.source_label, row.category,
            bool(row.cached), row.kind, row.error, row.fetched_at, row.ended_at, row.scraper,
            row.found_at, row.page_url, StoredDocument.of(row),
        )
        for row in rows if row.bytes_before < BYTES_AT_ONCE
    ]  # fmt: skip
