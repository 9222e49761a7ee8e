"""Crawls: where pages lead is kept with their results, and admitted afterwards.

A flush holds pages and comes to jobs last; admitting links needs sources first. So a flush only
writes down where a page of a crawl led, and another transaction admits that. Until then the job
goes on, whatever has ended. Whoever admits links, cancels or pauses a crawl holds its row.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson

from curtsy.frontier.admit import Admission, Wanted, admit, places_for
from curtsy.frontier.job_counts import Changes, Event, count, count_cached
from curtsy.model.jobs import OPEN_STATES
from curtsy.store import Connection, Statement

MOST_LEADS = 20
"""Pages whose links are admitted in one transaction."""
MOST_SOURCES = 1_000
"""On which it is remembered how far a crawl is."""

_INSERT_CRAWLS = Statement(
    """
    INSERT INTO crawls (job_id, depth, max_pages, admitted, priority, scope)
    SELECT job_id, depth, max_pages, admitted, priority, scope FROM {made} WHERE true
    """,
    made={"job_id": "bigint", "depth": "smallint", "max_pages": "int", "admitted": "int",
          "priority": "smallint", "scope": "text"},
)  # fmt: skip
_MEET = Statement(
    """
    INSERT INTO crawled (job_id, fingerprint) SELECT job_id, fingerprint FROM {met} WHERE true
    ON CONFLICT (job_id, fingerprint) DO NOTHING RETURNING fingerprint
    """,
    met={"job_id": "bigint", "fingerprint": "text"},
)
_DEPTHS = Statement(
    "SELECT job_id, depth FROM crawls WHERE job_id IN (SELECT id FROM {wanted})",
    wanted={"id": "bigint"},
)
_HUNGRY = Statement(
    """
    SELECT job_id, depth FROM crawls
    WHERE admitted < max_pages AND job_id IN (SELECT id FROM {wanted})
    """,
    wanted={"id": "bigint"},
)
_KEEP = Statement(
    "INSERT INTO links (job_id, depth, urls) SELECT job_id, depth, urls FROM {led} WHERE true",
    led={"job_id": "bigint", "depth": "smallint", "urls": "text"},
)
_LEADS = Statement(
    """
    SELECT l.id, l.job_id, l.depth, l.urls, c.depth AS deepest, c.priority, c.scope, j.scraper
    FROM links l JOIN jobs j ON j.id = l.job_id JOIN crawls c ON c.job_id = l.job_id
    WHERE j.paused_at IS NULL ORDER BY l.id LIMIT :most
    """
)
_LOCK = Statement(
    "SELECT admitted, max_pages, priority, ranks FROM crawls WHERE job_id = :job_id {lock}"
)
_JOB = Statement("SELECT state, paused_at FROM jobs WHERE id = :job_id")
_TAKE_LEADS = Statement(
    "DELETE FROM links WHERE id IN (SELECT id FROM {leads}) RETURNING id", leads={"id": "bigint"}
)
_DROP_LEADS = Statement("DELETE FROM links WHERE job_id = :job_id RETURNING id")
_GROW = Statement(
    "UPDATE crawls SET admitted = admitted + :pages, ranks = :ranks WHERE job_id = :job_id"
)


@dataclass(frozen=True, slots=True)
class Crawl:
    """What a job that follows links is told at its start."""

    depth: int
    max_pages: int
    priority: int
    scope: str
    """JSON: where it may go, and on what terms its pages are wanted."""


def insert_crawls(
    connection: Connection, begun: Sequence[tuple[int, Crawl, Sequence[Wanted]]]
) -> None:
    """Jobs that are new, with their start pages."""
    if not begun:
        return
    rows = [(job_id, c.depth, c.max_pages, len(starts), c.priority, c.scope)
            for job_id, c, starts in begun]  # fmt: skip
    _INSERT_CRAWLS(connection, made=rows)
    met = [(job_id, page.fingerprint) for job_id, _crawl, starts in begun for page in starts]
    _MEET(connection, met=met)


def depths(connection: Connection, jobs: Collection[int]) -> dict[int, int]:
    """How deep those of the jobs go that are crawls."""
    rows = _DEPTHS(connection, wanted=[(job_id,) for job_id in jobs]) if jobs else ()
    return {row.job_id: row.depth for row in rows}


Led = tuple[int, int, Sequence[str]]
"""A job, a depth, and the links found for it there."""


def store_links(connection: Connection, led: Sequence[Led], changes: Changes) -> None:
    """In a flush: where pages led, for the crawls that go so deep and are not full."""
    if not led:
        return
    jobs = {job_id for job_id, _depth, _links in led}
    hungry = {row.job_id: row.depth for row in
              _HUNGRY(connection, wanted=[(job_id,) for job_id in jobs])}  # fmt: skip
    kept = [(job_id, depth, orjson.dumps(links).decode())
            for job_id, depth, links in led if depth <= hungry.get(job_id, -1)]  # fmt: skip
    if kept:
        _KEEP(connection, led=kept)
    for job_id, _depth, _urls in kept:
        changes[job_id].links_waiting += 1


def waiting_leads(connection: Connection, *, most: int = MOST_LEADS) -> list[Any]:
    """Where pages led that nobody has admitted yet; what paused crawls found waits with them."""
    return list(_LEADS(connection, most=most))


def admit_links(
    connection: Connection,
    job_id: int,
    found: Mapping[int, Sequence[Wanted]],
    *,
    max_age: int,
    delay_ms: int,
    now: int,
) -> int:
    """Take the leads, and the pages they led to unless the crawl has met them or is full.

    `found` has the pages of each lead. Returns how many pages are new; leads that another has
    taken meanwhile are left to it.
    """
    pages = list(chain.from_iterable(found.values()))
    places = places_for(connection, pages, delay_ms=delay_ms, now=now)
    crawl = _LOCK(connection, job_id=job_id).one_or_none()
    job = _JOB(connection, job_id=job_id).one_or_none()
    if crawl is None or job is None or job.state not in OPEN_STATES or job.paused_at:
        return 0
    taken = _TAKE_LEADS(connection, leads=[(lead,) for lead in found]).scalars().all()
    if not taken:
        return 0
    led_to = chain.from_iterable(found[lead] for lead in sorted(taken))
    new = _not_met(connection, job_id, led_to)[: crawl.max_pages - crawl.admitted]
    placed = [page._replace(position=crawl.admitted + at) for at, page in enumerate(new)]
    reached = orjson.loads(crawl.ranks)
    ranks = places.ranks.of_a_job(reached, crawl.priority)
    cached = admit(connection, [Admission(job_id, placed, max_age, ranks)], places, now=now)
    reached |= ranks.reached({places.source_of[page.host] for page in placed}, crawl.priority)
    newest = dict(list(reached.items())[-MOST_SOURCES:])
    if placed:
        _GROW(connection, job_id=job_id, pages=len(placed), ranks=orjson.dumps(newest).decode())
    _grow(connection, job_id, len(placed), cached.get(job_id, 0), len(taken), now)
    return len(placed)


def _not_met(connection: Connection, job_id: int, pages: Iterable[Wanted]) -> list[Wanted]:
    """Each once, and from now on met."""
    first: dict[str, Wanted] = {}
    for page in pages:
        first.setdefault(page.fingerprint, page)
    met = [(job_id, fingerprint) for fingerprint in first]
    new = set(_MEET(connection, met=met).scalars()) if met else set()
    return [page for page in first.values() if page.fingerprint in new]


def _grow(
    connection: Connection, job_id: int, pages: int, cached: int, leads: int, now: int
) -> None:
    changes = Changes()
    changes[job_id].links_waiting = -leads
    if pages:
        grew = Event("job_grew", data={"pages": pages}, total=pages, done=cached)
        changes[job_id].events.append(grew)
    if cached:
        count_cached(connection, job_id, cached)
    count(connection, changes, now=now)


def lock_crawl(connection: Connection, job_id: int) -> None:
    """Nobody admits links to it until this transaction ends. (For a job that is none: nothing.)"""
    _LOCK(connection, job_id=job_id).one_or_none()


def delete_leads(connection: Connection, job_id: int) -> int:
    """How many of its pages led somewhere where it will not go any more."""
    return len(_DROP_LEADS(connection, job_id=job_id).all())
