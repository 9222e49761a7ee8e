"""Read a source's next visits. Nothing is written: who holds the source holds its visits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from curtsy.store import Connection, Lookup

PRIORITIES = range(1, 11)
Position = tuple[int, int]
"""Rank and page: the place in a source's order within one priority."""
START: Position = (-1, -1)


class Visit(NamedTuple):
    """A tuple, since lanes read them by the thousand; two of the same turn are equal."""

    page_id: int
    turn: int
    source_id: int
    priority: int
    rank: int
    due_at: int | None
    attempt: int
    hops: int
    url: str
    """Where to ask now: the page's own URL, or where it moved to."""
    progress: str | None
    crashes: int
    created_at: int
    scraper: str
    options: str | None
    etag: str | None
    last_modified: str | None
    wire_bytes: int | None = None
    """How large the answer was that we have."""
    links: bool = False
    """Somebody wants to know where the page leads."""
    refused: int = 0
    """How often its host refused it, having just answered others."""


@dataclass(frozen=True, slots=True)
class TakeRequest:
    """What a lane wants to read: `want` visits of each priority after its cursor there."""

    source_id: int
    after: Mapping[int, Position]
    want: int
    priorities: frozenset[int] | None = None
    """Only these, with nothing that is due: to go on reading. None: all, and what is due."""


_VISIT = (
    "v.page_id, v.turn, v.source_id, v.priority, v.rank, v.due_at, v.attempt, v.hops, "
    "coalesce(v.current_url, p.url) AS url, v.progress, v.crashes, v.created_at, "
    "p.scraper, p.options, p.etag, p.last_modified, p.wire_bytes, v.links, v.refused"
)
_OF_ONE_PRIORITY = """
    SELECT * FROM (SELECT * FROM visits
    WHERE source_id = {{each_source_id}} AND due_at IS NULL AND priority = {p}
      AND (rank, page_id) > ({{each_rank_{p}}}, {{each_page_{p}}})
    ORDER BY rank, page_id LIMIT {{each_want}}) AS of_priority_{p}
    """

_READY = Lookup(
    f"SELECT {_VISIT} FROM ("  # noqa: S608
    + " UNION ALL ".join(_OF_ONE_PRIORITY.format(p=p) for p in PRIORITIES)
    + ") v JOIN pages p ON p.id = v.page_id",
    each={"source_id": "bigint", "want": "int"}
    | {f"{what}_{p}": "bigint" for p in PRIORITIES for what in ("rank", "page")},
)
_MORE = Lookup(
    f"SELECT {_VISIT} "  # noqa: S608
    """
    FROM (
        SELECT * FROM visits
        WHERE source_id = {each_source_id} AND due_at IS NULL AND priority = {each_priority}
          AND (rank, page_id) > ({each_rank}, {each_page_id})
        ORDER BY rank, page_id LIMIT {each_want}) v
    JOIN pages p ON p.id = v.page_id
    """,
    each={"source_id": "bigint", "priority": "smallint", "rank": "bigint", "page_id": "bigint",
          "want": "int"},
)  # fmt: skip
_DUE = Lookup(
    f"SELECT {_VISIT} "  # noqa: S608
    """
    FROM (
        SELECT * FROM visits
        WHERE source_id = {each_source_id} AND due_at IS NOT NULL AND due_at <= :now
        ORDER BY due_at LIMIT {each_want}) v
    JOIN pages p ON p.id = v.page_id
    """,
    each={"source_id": "bigint", "want": "int"},
)


def take(
    connection: Connection, wishes: Sequence[TakeRequest], *, now: int
) -> dict[int, list[Visit]]:
    """Each source's next visits, best first; more than wanted where several priorities wait."""
    whole = [w for w in wishes if w.priorities is None]
    more = [
        (w.source_id, p, *w.after.get(p, START), w.want) for w in wishes for p in w.priorities or ()
    ]
    rows: list[Any] = _MORE(connection, more) if more else []
    if whole:
        rows += _READY(connection, [(w.source_id, w.want, *_places(w)) for w in whole])
        rows += _DUE(connection, [(w.source_id, w.want) for w in whole], now=now)
    taken: dict[int, list[Visit]] = {wish.source_id: [] for wish in wishes}
    for row in rows:
        visit = Visit._make(row)
        taken[visit.source_id].append(visit)
    for visits in taken.values():
        visits.sort(key=in_order)
    return taken


def in_order(visit: Visit) -> tuple[int, int, int]:
    return visit.priority, visit.rank, visit.page_id


def _places(wish: TakeRequest) -> Iterator[int]:
    for priority in PRIORITIES:
        yield from wish.after.get(priority, START)
