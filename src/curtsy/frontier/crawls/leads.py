"""Crawls: a flush stores the links of a page, and a later transaction admits them.

A flush locks pages first and jobs last, but to admit links needs locks on sources first. A flush
therefore only stores the links of each page of a crawl as a lead, and another transaction admits
the lead. Until then the job stays open, even if all its items have ended. Every transaction that
admits links, cancels or pauses a crawl locks the row of the crawl.

Feeds and sitemaps have a table of their own (`frontier/crawls/lists.py`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import orjson

from curtsy.frontier.admit import Admission, Places, Wanted, admit, bands_of, places_for
from curtsy.frontier.crawls.subscriptions import (
    NewSubscription,
    insert_subscriptions,
    subscription_of,
)
from curtsy.frontier.job_counts import Changes, Event, count, count_cached
from curtsy.model.job_states import OPEN_STATES, band_of
from curtsy.model.link import Link, dumped
from curtsy.model.page_use import lists_pages
from curtsy.store import Connection, Statement

MOST_LEADS = 20
"""Pages whose links are admitted in one transaction."""
MOST_SOURCES = 1_000
"""Sources for which the rank that a crawl has reached is stored."""

_INSERT_CRAWLS = Statement(
    """
    INSERT INTO crawls (job_id, depth, max_pages, admitted, priority, scope)
    SELECT job_id, depth, max_pages, admitted, priority, scope FROM {new} WHERE true
    """,
    new={"job_id": "bigint", "depth": "smallint", "max_pages": "int", "admitted": "int",
         "priority": "smallint", "scope": "text"},
)  # fmt: skip
_MARK_CRAWLED = Statement(
    """
    INSERT INTO crawled (job_id, fingerprint, subscription_id)
    SELECT job_id, fingerprint, subscription_id FROM {found} WHERE true
    ON CONFLICT (job_id, fingerprint) DO NOTHING RETURNING fingerprint
    """,
    found={"job_id": "bigint", "fingerprint": "text", "subscription_id": "bigint"},
)
_DEPTHS = Statement(
    "SELECT job_id, depth FROM crawls WHERE job_id IN (SELECT id FROM {wanted})",
    wanted={"id": "bigint"},
)
_NOT_FULL = Statement(
    """
    SELECT job_id, depth FROM crawls
    WHERE admitted < max_pages AND job_id IN (SELECT id FROM {wanted})
    """,
    wanted={"id": "bigint"},
)
_INSERT_LEADS = Statement(
    "INSERT INTO links (job_id, depth, urls) SELECT job_id, depth, urls FROM {new} WHERE true",
    new={"job_id": "bigint", "depth": "smallint", "urls": "text"},
)
_LEADS = Statement(
    """
    SELECT l.id, l.job_id, l.depth, l.urls, c.depth AS deepest, c.priority, c.scope, j.scraper
    FROM links l JOIN jobs j ON j.id = l.job_id JOIN crawls c ON c.job_id = l.job_id
    WHERE j.paused_at IS NULL ORDER BY l.id LIMIT :most
    """
)
_LOCK_CRAWL = Statement(
    "SELECT admitted, max_pages, priority, ranks FROM crawls WHERE job_id = :job_id {lock}"
)
_JOB = Statement("SELECT state, paused_at FROM jobs WHERE id = :job_id")
_CLAIM_LEADS = Statement(
    "DELETE FROM links WHERE id IN (SELECT id FROM {leads}) RETURNING id", leads={"id": "bigint"}
)
_DELETE_LEADS = Statement("DELETE FROM links WHERE job_id = :job_id RETURNING id")
_COUNT_ADMITTED = Statement(
    "UPDATE crawls SET admitted = admitted + :pages, ranks = :ranks WHERE job_id = :job_id"
)


@dataclass(frozen=True, slots=True)
class Crawl:
    """The settings of a job that follows links."""

    depth: int
    max_pages: int
    priority: int
    scope: str
    """JSON: which URLs the crawl may follow, and the options of its pages."""
    remembers: bool = True
    """The crawl has subscriptions to the feeds and sitemaps that it starts from."""


class Lead(NamedTuple):
    """The links of one page of a crawl, which wait to be admitted."""

    id: int
    job_id: int
    depth: int
    """The depth of the pages that the links lead to."""
    urls: str
    """JSON."""
    deepest: int
    """The depth of the crawl."""
    priority: int
    scope: str
    """As in `Crawl`."""
    scraper: str


class FoundLinks(NamedTuple):
    job_id: int
    depth: int
    """Of the pages that the links lead to."""
    links: Sequence[Link]


class NewCrawl(NamedTuple):
    job_id: int
    crawl: Crawl
    starts: Sequence[Wanted]
    scraper: str
    user_id: str | None
    schedule_id: int | None


def insert_crawls(connection: Connection, new: Sequence[NewCrawl], *, now: int) -> None:
    """Inserts the crawls of new jobs, and their subscriptions."""
    if not new:
        return
    _INSERT_CRAWLS(connection, new=[
        (job_id, c.depth, c.max_pages, len(starts), c.priority, c.scope)
        for job_id, c, starts, *_ in new
    ])  # fmt: skip
    subscribed = {(one.job_id, page.fingerprint): _subscription(one, page)
                  for one in new if one.crawl.remembers
                  for page in one.starts if lists_pages(page.uses)}  # fmt: skip
    ids = insert_subscriptions(connection, subscribed.values(), now=now)
    places = [(one.job_id, page.fingerprint) for one in new for page in one.starts]
    rows = [(*place, ids[subscribed[place].key] if place in subscribed else None)
            for place in places]  # fmt: skip
    _MARK_CRAWLED(connection, found=rows)


def _subscription(new: NewCrawl, page: Wanted) -> NewSubscription:
    return subscription_of(page.url, new.scraper, user_id=new.user_id, schedule_id=new.schedule_id)


def depths(connection: Connection, jobs: Collection[int]) -> dict[int, int]:
    """The depth of each of the jobs that is a crawl."""
    rows = _DEPTHS(connection, wanted=[(job_id,) for job_id in jobs]) if jobs else ()
    return {row.job_id: row.depth for row in rows}


def depths_of_not_full(connection: Connection, jobs: Collection[int]) -> dict[int, int]:
    """The depth of each of the crawls that may have more pages."""
    rows = _NOT_FULL(connection, wanted=[(job_id,) for job_id in jobs])
    return {row.job_id: row.depth for row in rows}


def store_links(connection: Connection, found: Sequence[FoundLinks], changes: Changes) -> None:
    """Stores links in a flush, for the crawls that go so deep and are not full."""
    if not found:
        return
    not_full = depths_of_not_full(connection, {one.job_id for one in found})
    stored = [(job_id, depth, dumped(links))
              for job_id, depth, links in found if depth <= not_full.get(job_id, -1)]  # fmt: skip
    if stored:
        _INSERT_LEADS(connection, new=stored)
    for job_id, *_ in stored:
        changes[job_id].links_waiting += 1


def waiting_leads(connection: Connection, *, most: int = MOST_LEADS) -> list[Lead]:
    """The oldest leads, except those of paused crawls."""
    return [Lead._make(row) for row in _LEADS(connection, most=most)]


def admit_links(
    connection: Connection,
    job_id: int,
    found: Mapping[int, Sequence[Wanted]],
    *,
    max_age: int,
    delay_ms: int,
    now: int,
) -> "Admitted":
    """Admits the pages of the leads that the crawl has not met yet, until the crawl is full, and
    deletes the leads.

    `found` has the pages of each lead, by its id. Skips leads that another process has claimed.
    """
    pages = list(chain.from_iterable(found.values()))
    places = places_for(connection, bands_of(pages), delay_ms=delay_ms, now=now)
    crawl = lock_open_crawl(connection, job_id)
    if crawl is None:
        return NOTHING_ADMITTED
    claimed = _CLAIM_LEADS(connection, leads=[(lead,) for lead in found]).scalars()
    if not claimed:
        return NOTHING_ADMITTED
    linked = chain.from_iterable(found[lead] for lead in sorted(claimed))
    new = not_crawled(connection, job_id, linked)[: crawl.room]
    admitted = admit_to_crawl(connection, crawl, new, places, max_age=max_age, now=now)
    count_admitted(connection, job_id, admitted, leads=len(claimed), now=now)
    return admitted


class OpenCrawl(NamedTuple):
    """The row of a crawl whose job is open, locked."""

    job_id: int
    admitted: int
    max_pages: int
    priority: int
    ranks: str

    @property
    def room(self) -> int:
        """How many more pages the crawl may have."""
        return self.max_pages - self.admitted


class Admitted(NamedTuple):
    pages: Sequence[Wanted]
    """With their positions in the job."""
    cached: int
    """How many of them need no visit."""
    bands: Mapping[int, int]
    """The best band of the pages, by source."""


NOTHING_ADMITTED = Admitted((), 0, {})


def lock_open_crawl(connection: Connection, job_id: int) -> OpenCrawl | None:
    """Locks the crawl; None: its job is over or paused."""
    crawl = _LOCK_CRAWL(connection, job_id=job_id).one_or_none()
    job = _JOB(connection, job_id=job_id).one_or_none()
    if crawl is None or job is None or job.state not in OPEN_STATES or job.paused_at:
        return None
    return OpenCrawl(job_id, crawl.admitted, crawl.max_pages, crawl.priority, crawl.ranks)


def admit_to_crawl(
    connection: Connection, crawl: OpenCrawl, new: Sequence[Wanted], places: Places, *,
    max_age: int, now: int,
) -> Admitted:  # fmt: skip
    """Admits pages that are new to the crawl and fit into it."""
    placed = [page._replace(position=crawl.admitted + at) for at, page in enumerate(new)]
    reached = orjson.loads(crawl.ranks)
    ranks = places.ranks.for_job(reached, crawl.priority)
    admission = Admission(crawl.job_id, placed, max_age, ranks)
    cached = admit(connection, [admission], places, now=now)
    reached |= ranks.reached({places.source_of[page.host] for page in placed}, crawl.priority)
    newest = dict(list(reached.items())[-MOST_SOURCES:])
    if placed:
        _COUNT_ADMITTED(connection, job_id=crawl.job_id, pages=len(placed),
                        ranks=orjson.dumps(newest).decode())  # fmt: skip
    bands: dict[int, int] = {}
    for page in placed:
        source_id, band = places.source_of[page.host], band_of(page.priority)
        bands[source_id] = min(bands.get(source_id, band), band)
    return Admitted(placed, cached.get(crawl.job_id, 0), bands)


def not_crawled(
    connection: Connection, job_id: int, pages: Iterable[Wanted],
    subscription_id: int | None = None,
) -> list[Wanted]:  # fmt: skip
    """Returns the pages that are new to the crawl, each once, and marks them as crawled. Feeds and
    sitemaps among them belong to the subscription."""
    first: dict[str, Wanted] = {}
    for page in pages:
        first.setdefault(page.met_as or page.fingerprint, page)
    rows = [(job_id, met_as, subscription_id if lists_pages(page.uses) else None)
            for met_as, page in first.items()]  # fmt: skip
    new = set(_MARK_CRAWLED(connection, found=rows).scalars()) if rows else set()
    return [page for met_as, page in first.items() if met_as in new]


def count_admitted(
    connection: Connection, job_id: int, admitted: Admitted, *, leads: int, now: int,
    read: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Counts pages and leads in the job. `read` says what a feed or sitemap listed."""
    pages, cached = len(admitted.pages), admitted.cached
    changes = Changes()
    changes[job_id].links_waiting = -leads
    if pages or read is not None:
        data = {"pages": pages} | ({"read": read} if read is not None else {})
        changes[job_id].events.append(Event("job_grew", data=data, total=pages, done=cached))
    if cached:
        count_cached(connection, job_id, cached)
    count(connection, changes, now=now)


def lock_crawl(connection: Connection, job_id: int) -> None:
    """No other transaction admits links to the crawl until this one ends. Does nothing for a job
    that is no crawl."""
    _LOCK_CRAWL(connection, job_id=job_id).one_or_none()


def delete_leads(connection: Connection, job_id: int) -> int:
    """Deletes the leads of a crawl that ends; returns how many."""
    return len(_DELETE_LEADS(connection, job_id=job_id).all())
