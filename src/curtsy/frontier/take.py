"""Reads the next visits of a source. Writes nothing: the owner of a source owns its visits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from curtsy.model.page_body import PageBody, body_of
from curtsy.store import Connection, Lookup

PRIORITIES = range(1, 11)
Position = tuple[int, int]
"""Rank and page id: the position in a source's order within one priority."""
START: Position = (-1, -1)


class Visit(NamedTuple):
    """A waiting visit. Two visits of the same turn are equal. (A tuple: lanes read thousands.)"""

    page_id: int
    turn: int
    source_id: int
    priority: int
    rank: int
    due_at: int | None
    attempt: int
    hops: int
    url: str
    """The URL of the next request: the page's own URL, or where it moved to."""
    progress: str | None
    crashes: int
    created_at: int
    scraper: str
    options: str | None
    etag: str | None
    last_modified: str | None
    wire_bytes: int | None = None
    """The size of the response of the stored document."""
    links: bool = False
    """A job wants the links of the page."""
    refused: int = 0
    """How often the host refused this page, but had just answered others."""
    page_url: str | None = None
    """The page's own URL; None: the page has not moved, so it is `url`."""
    repeats: bool = False
    """The page has moved, and is requested there with its own method and body."""
    sent_turn: int | None = None
    """The turn in which a POST was about to be sent. If it is this turn, nobody knows whether the
    site has it: a worker died, or the visit was aborted."""

    @property
    def body(self) -> PageBody | None:
        """What the next request sends; None: it is a GET."""
        return body_of(self.options) if self.page_url is None or self.repeats else None


@dataclass(frozen=True, slots=True)
class TakeRequest:
    """Reads up to `want` visits of each priority after the lane's position in that priority."""

    source_id: int
    after: Mapping[int, Position]
    want: int
    priorities: frozenset[int] | None = None
    """Continues to read only these priorities. None: all priorities, and postponed visits that are
    due."""


_VISIT = (
    "v.page_id, v.turn, v.source_id, v.priority, v.rank, v.due_at, v.attempt, v.hops, "
    "coalesce(v.current_url, p.url) AS url, v.progress, v.crashes, v.created_at, "
    "p.scraper, p.options, p.etag, p.last_modified, p.wire_bytes, v.links, v.refused, "
    "CASE WHEN v.current_url IS NULL THEN NULL ELSE p.url END AS page_url, v.repeats, p.sent_turn"
)
_POSTPONED = 0
"""Asks for postponed visits that are due, in place of a priority."""
_ALL = (_POSTPONED, *PRIORITIES)
_NEXT = Lookup(
    f"SELECT {_VISIT} "  # noqa: S608
    """
    FROM (
        SELECT * FROM (
            SELECT * FROM visits
            WHERE source_id = {each_source_id} AND due_at IS NULL AND priority = {each_priority}
              AND (rank, page_id) > ({each_rank}, {each_page_id})
            ORDER BY rank, page_id LIMIT {each_want}) AS ready
        UNION ALL
        SELECT * FROM (
            SELECT * FROM visits
            WHERE {each_priority} = 0 AND source_id = {each_source_id}
              AND due_at IS NOT NULL AND due_at <= :now
            ORDER BY due_at LIMIT {each_want}) AS postponed
        ) v
    {page_of_visit}
    """,
    each={"source_id": "bigint", "priority": "smallint", "rank": "bigint", "page_id": "bigint",
          "want": "int"},
)  # fmt: skip
"""One small subquery, repeated: PostgreSQL takes 2 ms to start a union of one for each priority."""


def take(
    connection: Connection, requests: Sequence[TakeRequest], *, now: int
) -> dict[int, list[Visit]]:
    """The next visits of each source, best first; more than `want` if several priorities wait."""
    wanted = [
        (r.source_id, p, *r.after.get(p, START), r.want)
        for r in requests
        for p in (_ALL if r.priorities is None else r.priorities)
    ]
    rows = _NEXT.tuples(connection, wanted, now=now)
    taken: dict[int, list[Visit]] = {request.source_id: [] for request in requests}
    for row in rows:
        visit = Visit._make(row)
        taken[visit.source_id].append(visit)
    for visits in taken.values():
        visits.sort(key=order_of)
    return taken


def order_of(visit: Visit) -> tuple[int, int, int]:
    return visit.priority, visit.rank, visit.page_id
