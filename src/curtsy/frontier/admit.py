"""Pages wanted by jobs become their items, and visits unless fresh enough or already waiting.

The upsert of the page is its lock: whoever adds, ends or removes an item of a page holds it. What
is decided of a page, here by later statements, therefore holds until the transaction ends.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from curtsy.frontier.batch import NEVER
from curtsy.frontier.ranks import Ranks
from curtsy.frontier.sources import sources_for, wake
from curtsy.model.jobs import band_of
from curtsy.store import Connection, Statement

T = TypeVar("T")

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
    links: bool = False
    """Where it leads is wanted, so that no copy will do."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The pages that one job wants."""

    job_id: int
    wanted: Sequence[Wanted]
    max_age: int = 0
    """A stored document no older than this will do (milliseconds)."""
    ranks: Ranks | None = None
    """How far the job is on its sources, where it goes on from there."""

    def fresh_since(self, page: Wanted, now: int) -> int:
        """Of what was fetched after this, a copy will do; without a `max_age`, of nothing."""
        return now - self.max_age if self.max_age > 0 and not page.links else NEVER


_IS_FRESH = """(p.outcome IN ('fetched', 'not_modified') AND p.document_version > 0
                AND p.fetched_at > w.fresh_since)"""

ON_A_VISIT_THAT_WAITS = """
    ON CONFLICT (page_id) DO UPDATE SET links = visits.links OR excluded.links,
        priority = {least}(visits.priority, excluded.priority),
        rank = CASE WHEN excluded.source_id <> visits.source_id THEN visits.rank
                    WHEN excluded.priority < visits.priority THEN excluded.rank
                    WHEN excluded.priority = visits.priority
                    THEN {least}(visits.rank, excluded.rank) ELSE visits.rank END
    WHERE excluded.priority < visits.priority OR (excluded.links AND NOT visits.links)
       OR (excluded.priority = visits.priority AND excluded.rank < visits.rank
           AND excluded.source_id = visits.source_id)
    """
"""It is joined: the better priority counts, and the better place at the same priority, so that a
small job has its turn of a page that a large one wants last; and where the page leads for whoever
wants it. Where a redirect took the page to another source, places cannot be compared."""

# The rows come sorted by host and fingerprint, as bytes are: that is the order in which everybody
# locks pages, and it lays the pages of a host side by side. The database must not sort them
# again, since its own collation may be another.
_UPSERT_PAGES = Statement(
    """
    INSERT INTO pages (fingerprint, url, host, scraper, options, reference_count, created_at)
    SELECT fingerprint, url, host, scraper, options, times, :now FROM {wanted}
    WHERE true
    ON CONFLICT (fingerprint) DO UPDATE
        SET reference_count = pages.reference_count + excluded.reference_count
    """,
    wanted={"fingerprint": "text", "url": "text", "host": "text", "scraper": "text",
            "options": "text", "times": "int"},
)  # fmt: skip
_INSERT_VISITS = Statement(
    f"""
    INSERT INTO visits (page_id, source_id, priority, rank, turn, links, created_at)
    SELECT p.id, w.source_id, w.priority, w.rank, p.turn + 1, w.links, :now
    FROM (SELECT * FROM {{wanted}}) w JOIN pages p ON p.fingerprint = w.fingerprint
    WHERE NOT coalesce({_IS_FRESH}, false)
    {ON_A_VISIT_THAT_WAITS}
    """,  # noqa: S608
    wanted={"fingerprint": "text", "source_id": "bigint", "priority": "smallint",
            "rank": "bigint", "links": "bool", "fresh_since": "bigint"},
)  # fmt: skip
_INSERT_ITEMS = Statement(
    f"""
    INSERT INTO items (job_id, position, page_id, state, url, source_label, category, priority,
                       depth, cached, document_version, fetched_at, ended_at)
    SELECT job_id, position, page_id, CASE WHEN fresh THEN 1 ELSE 0 END, given, source_label,
           category, priority, depth, fresh, CASE WHEN fresh THEN document_version END,
           CASE WHEN fresh THEN fetched_at END, CASE WHEN fresh THEN CAST(:now AS bigint) END
    FROM (SELECT w.*, p.id AS page_id, p.document_version, p.fetched_at,
                 coalesce({_IS_FRESH}, false) AS fresh
          FROM (SELECT * FROM {{wanted}}) w JOIN pages p ON p.fingerprint = w.fingerprint) found
    WHERE true
    """,  # noqa: S608
    wanted={"job_id": "bigint", "position": "int", "fingerprint": "text", "given": "text",
            "source_label": "text", "category": "text", "priority": "smallint",
            "depth": "smallint", "fresh_since": "bigint"},
)  # fmt: skip
_COUNT_CACHED = Statement(
    """
    SELECT i.job_id, count(*) AS cached FROM {wanted} JOIN items i ON i.job_id = wanted.id
    AND i.position >= wanted.first WHERE i.cached GROUP BY i.job_id
    """,
    wanted={"id": "bigint", "first": "int"},
)


class _Visit(NamedTuple):
    """That a page needs, on the best terms that any of the jobs has for it."""

    page: Wanted
    times: int
    """How many of the jobs want it."""
    source_id: int
    rank: int
    links: bool
    fresh_since: int
    """The latest: a copy that will not do for one job is fetched again."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where pages are to wait: the sources of their hosts, and how far those are."""

    source_of: Mapping[str, int]
    ranks: Ranks


def places_for(
    connection: Connection, pages: Iterable[Wanted], *, delay_ms: int, now: int
) -> Places:
    """Sources come first in the order of locks. `delay_ms` is for hosts never seen before."""
    band_of_host: dict[str, int] = {}
    for page in pages:
        band = band_of(page.priority)
        band_of_host[page.host] = min(band_of_host.get(page.host, band), band)
    sources = sources_for(connection, band_of_host, delay_ms=delay_ms, now=now)
    source_of = sources.by_host
    bands = {source_of[h]: b for h, b in band_of_host.items() if source_of[h] not in sources.made}
    wake(connection, bands, now=now)
    return Places(source_of, Ranks.read(connection, bands))


def admit(
    connection: Connection, admissions: Sequence[Admission], places: Places, *, now: int
) -> dict[int, int]:
    """Write the jobs' items and the visits they need; returns, by job, how many were fresh."""
    visits = _visits(admissions, places, now)
    for chunk in _chunks(visits):
        pages = [(p.fingerprint, p.url, p.host, p.scraper, p.options, v.times)
                 for v in chunk for p in (v.page,)]  # fmt: skip
        _UPSERT_PAGES(connection, wanted=pages, now=now)
    for chunk in _chunks(visits):
        waiting = [
            (v.page.fingerprint, v.source_id, v.page.priority, v.rank, v.links, v.fresh_since)
            for v in chunk
        ]
        _INSERT_VISITS(connection, wanted=waiting, now=now)
    return _add_items(connection, admissions, now)


def _visits(admissions: Sequence[Admission], places: Places, now: int) -> list[_Visit]:
    """One for each page, in the order in which everybody locks pages."""
    best: dict[str, _Visit] = {}
    for admission in admissions:
        of_job = admission.ranks or places.ranks.of_a_job()
        for page in admission.wanted:
            source_id = places.source_of[page.host]
            rank, fresh = of_job.take(source_id, page.priority), admission.fresh_since(page, now)
            visit = _Visit(page, 1, source_id, rank, page.links, fresh)
            known = best.get(page.fingerprint)
            best[page.fingerprint] = visit if known is None else _on_better_terms(known, visit)
    return sorted(best.values(), key=lambda visit: (visit.page.host, visit.page.fingerprint))


def _on_better_terms(known: _Visit, other: _Visit) -> _Visit:
    better = min(known, other, key=lambda visit: (visit.page.priority, visit.rank))
    return better._replace(
        times=known.times + other.times,
        links=known.links or other.links,
        fresh_since=max(known.fresh_since, other.fresh_since),
    )


def _add_items(connection: Connection, admissions: Sequence[Admission], now: int) -> dict[int, int]:
    rows = [
        (a.job_id, p.position, p.fingerprint, p.given, p.source_label, p.category, p.priority,
         p.depth, a.fresh_since(p, now))
        for a in admissions for p in a.wanted
    ]  # fmt: skip
    for chunk in _chunks(rows):
        _INSERT_ITEMS(connection, wanted=chunk, now=now)
    takes_copies = [(a.job_id, min(p.position for p in a.wanted))
                    for a in admissions if a.max_age > 0 and a.wanted]  # fmt: skip
    found = _COUNT_CACHED(connection, wanted=takes_copies) if takes_copies else ()
    return {row.job_id: row.cached for row in found}


def _chunks(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]
