"""Pages wanted by a job become its items, and visits unless fresh enough or already waiting.

The upsert of the page is its lock: whoever adds, ends or removes an item of a page holds it. What
is decided of a page, here by later statements, therefore holds until the transaction ends.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from curtsy.frontier.results import NEVER
from curtsy.frontier.sources import sources_for, wake
from curtsy.model.jobs import band_of
from curtsy.store import Connection, Statement

CHUNK = 1_024


class Wanted(NamedTuple):
    """A page that a job wants, its URL already canonical. (A tuple: there may be 100,000.)"""

    position: int
    fingerprint: str
    url: str
    host: str
    scraper: str
    priority: int
    given: str | None = None
    """The URL as it was given, where that is another spelling."""
    options: str | None = None
    source_label: str | None = None
    category: str | None = None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """On which a job takes pages in."""

    max_age: int
    """A stored document no older than this will do (milliseconds)."""
    delay_ms: int
    """Of a host never seen before."""
    now: int

    @property
    def fresh_since(self) -> int:
        """Of what was fetched after this, a copy will do; without a `max_age`, of nothing."""
        return self.now - self.max_age if self.max_age > 0 else NEVER


_IS_FRESH = """(p.outcome IN ('fetched', 'not_modified') AND p.document_version > 0
                AND p.fetched_at > :fresh_since)"""

# The rows come sorted by host and fingerprint, as bytes are: that is the order in which everybody
# locks pages, and it lays the pages of a host side by side. The database must not sort them
# again, since its own collation may be another.
_UPSERT_PAGES = Statement(
    """
    INSERT INTO pages (fingerprint, url, host, scraper, options, reference_count, created_at)
    SELECT fingerprint, url, host, scraper, options, 1, :now FROM {wanted}
    WHERE true
    ON CONFLICT (fingerprint) DO UPDATE SET reference_count = pages.reference_count + 1
    """,
    wanted={"fingerprint": "text", "url": "text", "host": "text", "scraper": "text",
            "options": "text"},
)  # fmt: skip
_INSERT_VISITS = Statement(
    f"""
    INSERT INTO visits (page_id, source_id, priority, rank, turn, created_at)
    SELECT p.id, w.source_id, w.priority, w.rank, p.turn + 1, :now
    FROM (SELECT * FROM {{wanted}}) w JOIN pages p ON p.fingerprint = w.fingerprint
    WHERE NOT coalesce({_IS_FRESH}, false)
    ON CONFLICT (page_id) DO UPDATE SET priority = excluded.priority, rank = excluded.rank
    WHERE excluded.priority < visits.priority
    """,  # noqa: S608
    wanted={"fingerprint": "text", "source_id": "bigint", "priority": "smallint",
            "rank": "bigint"},
)  # fmt: skip
_INSERT_ITEMS = Statement(
    f"""
    INSERT INTO items (job_id, position, page_id, state, url, source_label, category, priority,
                       depth, cached, document_version, fetched_at, ended_at)
    SELECT :job_id, position, page_id, CASE WHEN fresh THEN 1 ELSE 0 END, given, source_label,
           category, priority, depth, fresh, CASE WHEN fresh THEN document_version END,
           CASE WHEN fresh THEN fetched_at END, CASE WHEN fresh THEN CAST(:now AS bigint) END
    FROM (SELECT w.*, p.id AS page_id, p.document_version, p.fetched_at,
                 coalesce({_IS_FRESH}, false) AS fresh
          FROM (SELECT * FROM {{wanted}}) w JOIN pages p ON p.fingerprint = w.fingerprint) found
    WHERE true
    """,  # noqa: S608
    wanted={"position": "int", "fingerprint": "text", "given": "text", "source_label": "text",
            "category": "text", "priority": "smallint", "depth": "smallint"},
)  # fmt: skip
_COUNT_CACHED = Statement("SELECT count(*) FROM items WHERE job_id = :job_id AND cached")

_RANKS = Statement(
    "SELECT s.id, s.ranks FROM {wanted} JOIN sources s ON s.id = wanted.id",
    wanted={"id": "bigint"},
)


class Ranks:
    """Fair order: a page's rank is its source's virtual time plus its position in its job.

    Two jobs on one source therefore take turns, whatever their sizes. Virtual time is kept for
    each priority: the rank of the last page of that priority that was dealt with.
    """

    def __init__(self, virtual_times: dict[int, dict[str, list[int]]]) -> None:
        self._next: dict[tuple[int, int], int] = defaultdict(int)
        for source_id, by_priority in virtual_times.items():
            for priority, (virtual_time, _floor) in by_priority.items():
                self._next[source_id, int(priority)] = virtual_time

    @classmethod
    def read(cls, connection: Connection, source_ids: Collection[int]) -> "Ranks":
        """Of a source that is not asked for, virtual time stands at its beginning."""
        if not source_ids:
            return cls({})
        rows = _RANKS(connection, wanted=[(i,) for i in source_ids])
        return cls({i: orjson.loads(ranks) for i, ranks in rows if ranks != "{}"})

    def take(self, source_id: int, priority: int) -> int:
        rank = self._next[source_id, priority] + 1
        self._next[source_id, priority] = rank
        return rank


def admit(connection: Connection, job_id: int, wanted: Sequence[Wanted], terms: Terms) -> int:
    """Write the job's items and the visits they need; returns how many were fresh enough."""
    band_of_host: dict[str, int] = {}
    for page in wanted:
        band = band_of(page.priority)
        band_of_host[page.host] = min(band_of_host.get(page.host, band), band)
    sources = sources_for(connection, band_of_host, delay_ms=terms.delay_ms, now=terms.now)
    source_of = sources.by_host
    bands = {source_of[h]: b for h, b in band_of_host.items() if source_of[h] not in sources.made}
    wake(connection, bands, now=terms.now)
    ranks = Ranks.read(connection, bands)
    ranked = [
        (page, source_of[page.host], ranks.take(source_of[page.host], page.priority))
        for page in wanted
    ]
    ranked.sort(key=lambda row: (row[0].host, row[0].fingerprint))
    for chunk in _chunks(ranked):
        rows = [(p.fingerprint, p.url, p.host, p.scraper, p.options) for p, _s, _r in chunk]
        _UPSERT_PAGES(connection, wanted=rows, now=terms.now)
    _add_visits_and_items(connection, job_id, ranked, terms)
    if terms.max_age <= 0:
        return 0
    cached: int = _COUNT_CACHED(connection, job_id=job_id).scalar_one()
    return cached


Ranked = tuple[Wanted, int, int]
"""What is wanted, its source, and its rank there."""


def _add_visits_and_items(
    connection: Connection, job_id: int, ranked: Sequence[Ranked], terms: Terms
) -> None:
    fresh_since = terms.fresh_since
    for chunk in _chunks(ranked):
        visits = [(p.fingerprint, source_id, p.priority, rank) for p, source_id, rank in chunk]
        _INSERT_VISITS(connection, wanted=visits, fresh_since=fresh_since, now=terms.now)
        items = [
            (p.position, p.fingerprint, p.given, p.source_label, p.category, p.priority, p.depth)
            for p, _source_id, _rank in chunk
        ]
        _INSERT_ITEMS(connection, wanted=items, job_id=job_id, fresh_since=fresh_since,
                      now=terms.now)  # fmt: skip


def _chunks(ranked: Sequence[Ranked]) -> Iterator[Sequence[Ranked]]:
    for start in range(0, len(ranked), CHUNK):
        yield ranked[start : start + CHUNK]
