"""Admits the pages of jobs: inserts an item for each, and a visit unless the page is fresh enough
or has a waiting visit.

The upsert of a page also locks it. Every transaction that adds, ends or deletes an item of a page
locks the page first. What later statements here decide about a page therefore holds until the
transaction ends.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from curtsy.frontier.batch import NEVER
from curtsy.frontier.ranks import Ranks
from curtsy.frontier.sources import sources_for, wake
from curtsy.model.job_states import band_of
from curtsy.model.page_use import ORDINARY, lists_pages
from curtsy.store import Call, Connection, Result, Statement, together

T = TypeVar("T")

CHUNK = 1_024


class Wanted(NamedTuple):
    """A page that a job wants, with a canonical URL. (A tuple: there may be 100,000.)"""

    position: int
    fingerprint: str
    url: str
    host: str
    scraper: str
    priority: int
    given: str | None = None
    """The URL as the client spelled it, if that differs."""
    options: str | None = None
    source_label: str | None = None
    category: str | None = None
    depth: int = 0
    links: bool = False
    """The job follows the links of the page, so that a stored copy is not enough."""
    uses: int = ORDINARY
    """What the job does with the page: `PageUse`."""
    changed_at: int | None = None
    """When the page changed, as a feed or sitemap says: an older copy is not enough."""
    sends: bool = False
    """The request has a method of its own: no stored copy stands for it."""
    met_as: str | None = None
    """The fingerprint without what its link passes along: a crawl fetches each URL once for each
    scraper, whatever the links to it pass. None: the link passes nothing."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The pages that one job wants."""

    job_id: int
    wanted: Sequence[Wanted]
    max_age: int = 0
    """A stored document no older than this is fresh enough (milliseconds)."""
    ranks: Ranks | None = None
    """The ranks that a crawl has reached; None: the job is new."""

    def fresh_since(self, page: Wanted, now: int) -> int:
        """A document fetched after this instant is fresh enough; without a `max_age` none is."""
        if self.max_age <= 0 or page.links or page.sends or lists_pages(page.uses):
            return NEVER
        return max(now - self.max_age, page.changed_at or 0)


_IS_FRESH = """(p.outcome IN ('fetched', 'not_modified') AND p.document_version > 0
                AND p.fetched_at > w.fresh_since)"""

JOIN_WAITING_VISIT = """
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
"""Joins a waiting visit: the better priority wins, and at the same priority the better rank, so
that a small job need not wait for a page that a large job wants last. The links are extracted if
any job wants them. Ranks cannot be compared after a redirect took the page to another source."""

# The rows come sorted by the bytes of host and fingerprint. All transactions lock pages in this
# order, and it stores the pages of a host side by side. The database must not sort the rows again,
# since its collation may differ.
_UPSERT_PAGES = Statement(
    """
    INSERT INTO pages (fingerprint, url, host, scraper, options, reference_count, created_at)
    SELECT fingerprint, url, host, scraper, options, times, :now FROM {wanted}
    WHERE true
    ON CONFLICT (fingerprint) DO UPDATE
        SET reference_count = pages.reference_count + excluded.reference_count,
            options = CASE WHEN excluded.options = pages.options THEN pages.options
                           ELSE excluded.options END
    """,
    wanted={"fingerprint": "text", "url": "text", "host": "text", "scraper": "text",
            "options": "text", "times": "int"},
)  # fmt: skip
_INSERT_VISITS = Statement(
    f"""
    INSERT INTO visits (page_id, source_id, priority, rank, turn, links, created_at)
    SELECT p.id, w.source_id, w.priority, w.rank, p.turn + 1, w.links, :now
    FROM (SELECT * FROM {{wanted}}) w {{page_by_fingerprint}}
    WHERE NOT coalesce({_IS_FRESH}, false)
    {JOIN_WAITING_VISIT}
    """,  # noqa: S608
    wanted={"fingerprint": "text", "source_id": "bigint", "priority": "smallint",
            "rank": "bigint", "links": "bool", "fresh_since": "bigint"},
)  # fmt: skip
_INSERT_ITEMS = Statement(
    f"""
    INSERT INTO items (job_id, position, page_id, state, url, source_label, category, priority,
                       depth, uses, cached, document_version, fetched_at, ended_at)
    SELECT job_id, position, page_id, CASE WHEN fresh THEN 1 ELSE 0 END, given, source_label,
           category, priority, depth, uses, fresh, CASE WHEN fresh THEN document_version END,
           CASE WHEN fresh THEN fetched_at END, CASE WHEN fresh THEN CAST(:now AS bigint) END
    FROM (SELECT w.*, p.id AS page_id, p.document_version, p.fetched_at,
                 coalesce({_IS_FRESH}, false) AS fresh
          FROM (SELECT * FROM {{wanted}}) w {{page_by_fingerprint}}) found
    WHERE true
    """,  # noqa: S608
    wanted={"job_id": "bigint", "position": "int", "fingerprint": "text", "given": "text",
            "source_label": "text", "category": "text", "priority": "smallint",
            "depth": "smallint", "uses": "smallint", "fresh_since": "bigint"},
)  # fmt: skip
_COUNT_CACHED = Statement(
    """
    SELECT i.job_id, count(*) AS cached FROM {wanted} JOIN items i ON i.job_id = wanted.id
    AND i.position >= wanted.first WHERE i.cached GROUP BY i.job_id
    """,
    wanted={"id": "bigint", "first": "int"},
)


class _Visit(NamedTuple):
    """The visit that a page needs, with the best terms of all jobs that want the page."""

    page: Wanted
    times: int
    """How many of the jobs want the page."""
    source_id: int
    rank: int
    links: bool
    fresh_since: int
    """The latest of the jobs: a copy that is too old for one job is fetched again."""


@dataclass(frozen=True, slots=True)
class Places:
    """The sources of hosts, and the ranks that those sources have reached."""

    source_of: Mapping[str, int]
    ranks: Ranks


def bands_of(pages: Iterable[Wanted]) -> dict[str, int]:
    """The best band of the work of each host."""
    bands: dict[str, int] = {}
    for page in pages:
        band = band_of(page.priority)
        bands[page.host] = min(bands.get(page.host, band), band)
    return bands


def places_for(
    connection: Connection, bands: Mapping[str, int], *, delay_ms: int, now: int,
    standing: Result | None = None,
) -> Places:  # fmt: skip
    """Finds, creates and wakes the sources of the hosts (`bands` as `bands_of` returns them), which
    come first in the order of locks. `delay_ms` is the delay of new sources."""
    sources = sources_for(connection, bands, delay_ms=delay_ms, now=now, standing=standing)
    wake(connection, sources.to_wake, now=now)
    return Places(sources.by_host, Ranks(sources.virtual_times))


def admit(
    connection: Connection, admissions: Sequence[Admission], places: Places, *, now: int,
    also: Sequence[Call] = (),
) -> dict[int, int]:  # fmt: skip
    """Inserts the items of the jobs and the visits that they need. Returns how many pages were
    fresh, by job. Statements in `also` run together with the last insert."""
    visits = _visits(admissions, places, now)
    for chunk in _chunks(visits):
        pages = [(p.fingerprint, p.url, p.host, p.scraper, p.options, v.times)
                 for v in chunk for p in (v.page,)]  # fmt: skip
        _UPSERT_PAGES(connection, wanted=pages, now=now)
    _insert_visits_and_items(connection, visits, admissions, now, also)
    return _cached(connection, admissions)


def _visits(admissions: Sequence[Admission], places: Places, now: int) -> list[_Visit]:
    """One visit for each page, in the order in which pages are locked."""
    best: dict[str, _Visit] = {}
    for admission in admissions:
        ranks = admission.ranks or places.ranks.for_job()
        for page in admission.wanted:
            source_id = places.source_of[page.host]
            rank, fresh = ranks.take(source_id, page.priority), admission.fresh_since(page, now)
            visit = _Visit(page, 1, source_id, rank, page.links, fresh)
            known = best.get(page.fingerprint)
            best[page.fingerprint] = visit if known is None else _merged(known, visit)
    return sorted(best.values(), key=lambda visit: (visit.page.host, visit.page.fingerprint))


def _merged(known: _Visit, other: _Visit) -> _Visit:
    better = min(known, other, key=lambda visit: (visit.page.priority, visit.rank))
    return better._replace(
        times=known.times + other.times,
        links=known.links or other.links,
        fresh_since=max(known.fresh_since, other.fresh_since),
    )


def _insert_visits_and_items(
    connection: Connection, visits: Sequence[_Visit], admissions: Sequence[Admission], now: int,
    also: Sequence[Call],
) -> None:  # fmt: skip
    waiting = [
        (v.page.fingerprint, v.source_id, v.page.priority, v.rank, v.links, v.fresh_since)
        for v in visits
    ]
    items = [
        (a.job_id, p.position, p.fingerprint, p.given, p.source_label, p.category, p.priority,
         p.depth, int(p.uses), a.fresh_since(p, now))
        for a in admissions for p in a.wanted
    ]  # fmt: skip
    last = max(0, (max(len(waiting), len(items)) - 1) // CHUNK)  # `also` runs in any case
    for n in range(last + 1):
        some = slice(n * CHUNK, (n + 1) * CHUNK)
        together(connection, (_INSERT_VISITS, {"wanted": waiting[some], "now": now}),
                 (_INSERT_ITEMS, {"wanted": items[some], "now": now}),
                 *(also if n == last else ()))  # fmt: skip


def _cached(connection: Connection, admissions: Sequence[Admission]) -> dict[int, int]:
    """Returns how many of the new items got a stored document, by job."""
    accepts_copies = [(a.job_id, min(p.position for p in a.wanted))
                      for a in admissions if a.max_age > 0 and a.wanted]  # fmt: skip
    found = _COUNT_CACHED(connection, wanted=accepts_copies) if accepts_copies else ()
    return {row.job_id: row.cached for row in found}


def _chunks(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]
