"""What a job would come to if it were submitted now: nothing is written, nothing is asked for."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import zstandard

from curtsy.frontier.admit import Admission, Wanted
from curtsy.frontier.ranks import VirtualTimes, virtual_times
from curtsy.frontier.sources import expected_sources
from curtsy.model.domains import home_of
from curtsy.operations.advice import Advice, Late, advise
from curtsy.operations.blockers import Blocker, Hands, paused
from curtsy.operations.outlook import PLACE, SourceStanding, source_standings, visits_up_to
from curtsy.politeness.forecast import start_of
from curtsy.politeness.pace import Pace
from curtsy.politeness.policy import Policy
from curtsy.politeness.robots import READ_BYTES, Robots, robots_of, token_of
from curtsy.store import Connection, Statement

CHUNK = 1_000
HOSTS_WITH_ROBOTS = 200
"""Of so many hosts robots.txt is looked at, as far as we have it."""
SOURCES_FORETOLD = 500
SHOWN = 100

_KNOWN = Statement(
    """
    SELECT w.fingerprint, v.source_id AS joined, v.priority, v.rank,
           coalesce(p.outcome IN ('fetched', 'not_modified') AND p.document_version > 0
                    AND p.fetched_at > w.fresh_since, false) AS fresh
    FROM (SELECT * FROM {wanted}) w JOIN pages p ON p.fingerprint = w.fingerprint
    LEFT JOIN visits v ON v.page_id = p.id
    """,
    wanted={"fingerprint": "text", "fresh_since": "bigint"},
)
_ROBOTS = Statement(
    """
    SELECT h.host, h.robots FROM {wanted} JOIN hosts h ON h.host = wanted.host
    WHERE h.robots_expires_at > :now
    """,
    wanted={"host": "text"},
)


@dataclass(frozen=True, slots=True)
class PlannedSource:
    name: str
    pages: int
    """Requests that the job adds."""
    ahead: int
    """Visits that would go before its last page."""
    first_start_at: int
    last_start_at: int
    pace: Pace
    answer_ms: float = 0.0
    unknown_robots: int = 0
    """Requests for robots.txt that would go before."""
    paused: Blocker | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    total: int
    new: int
    cached: int
    joined: int
    """That another job waits for already: fetched once for both."""
    refused_by_robots: Sequence[str]
    """URLs, as far as robots.txt is known; the first hundred."""
    refused: int
    guarded: Sequence[str]
    """URLs that lead to addresses that nothing is fetched from."""
    sources: Sequence[PlannedSource]
    """The last to end first."""
    blockers: Sequence[Blocker]
    """That a person would have to remove first."""
    finish_at: int | None
    """If workers work; None: a source is paused, so that nobody can tell."""
    advice: Advice | None


@dataclass(frozen=True, slots=True)
class Found:
    """What the store knows of the pages that a job wants."""

    known: Mapping[str, Any]
    source_of: Mapping[str, int]
    standings: Mapping[int, SourceStanding]
    ranks: VirtualTimes
    robots: Mapping[str, bytes]
    before: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """By source: visits that would go before the job's first new page there, and its last."""
    joined: Mapping[int, int] = field(default_factory=dict)
    """By source: how many visits there are up to the last that the job would join."""
    hands: Hands = field(default_factory=lambda: Hands(()))


def look_for_plan(
    connection: Connection, wanted: Sequence[Wanted], max_age: int, defaults: Policy, *, now: int
) -> Found:
    admission = Admission(0, wanted, max_age)
    known: dict[str, Any] = {}
    for start in range(0, len(wanted), CHUNK):
        rows = [(p.fingerprint, admission.fresh_since(p, now))
                for p in wanted[start : start + CHUNK]]  # fmt: skip
        known |= {row.fingerprint: row for row in _KNOWN(connection, wanted=rows)}
    hosts = Counter(page.host for page in wanted)
    source_of = expected_sources(connection, hosts)
    ids = sorted(set(source_of.values()))
    asked = [(host,) for host, _pages in hosts.most_common(HOSTS_WITH_ROBOTS)]
    found = Found(known, source_of, source_standings(connection, ids, defaults, now=now),
                  virtual_times(connection, ids),
                  {kept.host: bytes(kept.robots) for kept in
                   _ROBOTS(connection, wanted=asked, now=now)},
                  hands=Hands.now(connection, now))  # fmt: skip
    return _placed(connection, wanted, found, now)


def _placed(connection: Connection, wanted: Sequence[Wanted], found: Found, now: int) -> Found:
    ends = {source: _ends(source, pages, found) for source, pages in
            _by_source(wanted, found).items() if isinstance(source, int)}  # fmt: skip
    last: dict[int, int] = {}
    for row in found.known.values():
        if row.joined is not None and not row.fresh:
            place = row.priority * PLACE + row.rank
            last[row.joined] = max(last.get(row.joined, 0), place)
    places = {(source, at) for source, both in ends.items() for at in both} | {*last.items()}
    visits = visits_up_to(connection, places, now=now)
    return replace(
        found,
        before={i: (visits[i, first], visits[i, end]) for i, (first, end) in ends.items()},
        joined={i: visits[i, place] for i, place in last.items()},
    )


def make_plan(
    wanted: Sequence[Wanted], found: Found, defaults: Policy, *, user_agent: str, now: int,
    finish_by: int | None = None, guarded: Sequence[str] = (),
) -> Plan:  # fmt: skip
    """Pure, and may take its time: robots.txt is read here."""
    barred = set(_barred(wanted, found, defaults, token_of(user_agent)))
    to_fetch = [p for p in wanted if not _is_fresh(p, found) and p.fingerprint not in barred]
    joined = sum(not _is_new(p, found) for p in to_fetch)
    sources = _sources([p for p in to_fetch if _is_new(p, found)], found, defaults, now)
    finish_at = sources[0].last_start_at if sources else now
    late = finish_by is not None and sources and finish_at > finish_by
    pauses = [s.paused for s in sources if s.paused is not None]
    return Plan(
        total=len(wanted) + len(guarded),
        new=len(to_fetch) - joined,
        cached=len(wanted) - len(to_fetch) - len(barred),
        joined=joined,
        refused_by_robots=[p.url for p in wanted if p.fingerprint in barred][:SHOWN],
        refused=len(barred),
        guarded=guarded,
        sources=sources,
        blockers=[*pauses, *(found.hands.blockers_of_people() if sources else ())],
        finish_at=finish_at if not pauses else None,
        advice=advise(_late(sources[0], finish_by or 0, now)) if late else None,
    )


def _late(source: PlannedSource, finish_by: int, now: int) -> Late:
    return Late(source.name, source.pace, source.ahead, source.unknown_robots, source.pages,
                source.answer_ms, finish_by, now)  # fmt: skip


def _sources(
    new: Sequence[Wanted], found: Found, defaults: Policy, now: int
) -> list[PlannedSource]:
    unknown: dict[int | str, set[str]] = {}
    for page in new:
        if page.host not in found.robots:
            unknown.setdefault(_source_of(page, found), set()).add(page.host)
    pages = _by_source(new, found)
    most = [*pages.items(), *((i, Counter[int]()) for i in found.joined if i not in pages)]
    planned = [_foretold(source, count, unknown.get(source, set()), found, defaults, now)
               for source, count in most[:SOURCES_FORETOLD]]  # fmt: skip
    return sorted(planned, key=lambda source: source.last_start_at, reverse=True)


def _is_fresh(page: Wanted, found: Found) -> bool:
    row = found.known.get(page.fingerprint)
    return row is not None and bool(row.fresh)


def _is_new(page: Wanted, found: Found) -> bool:
    """Neither is it in the store nor does another job wait for it."""
    row = found.known.get(page.fingerprint)
    return row is None or (row.joined is None and not row.fresh)


def _barred(wanted: Sequence[Wanted], found: Found, defaults: Policy, token: str) -> Iterator[str]:
    rules: dict[str, Robots] = {}
    for page in wanted:
        if page.host not in found.robots or not _policy(page.host, found, defaults).robots:
            continue
        if page.host not in rules:
            file = found.robots[page.host]
            text = zstandard.decompress(file, max_output_size=READ_BYTES) if file else b""
            agent = _policy(page.host, found, defaults).user_agent
            rules[page.host] = robots_of(text, token_of(agent) if agent else token)
        if not rules[page.host].allows(page.url[page.url.index("/", len("https://")) :]):
            yield page.fingerprint


def _policy(host: str, found: Found, defaults: Policy) -> Policy:
    source = found.source_of.get(host)
    standing = found.standings.get(source) if source is not None else None
    return standing.policy if standing is not None else defaults


def _by_source(wanted: Sequence[Wanted], found: Found) -> dict[int | str, Counter[int]]:
    """By the source, or the name of one that would be new: pages by priority."""
    pages: dict[int | str, Counter[int]] = {}
    for page in wanted:
        pages.setdefault(_source_of(page, found), Counter())[page.priority] += 1
    return dict(sorted(pages.items(), key=lambda item: -item[1].total()))


def _source_of(page: Wanted, found: Found) -> int | str:
    return found.source_of.get(page.host, home_of(page.host))


def _ends(source: int, pages: Counter[int], found: Found) -> tuple[int, int]:
    """Where the job's first and last page would come in the source's order."""
    best, worst = min(pages), max(pages)
    times = found.ranks.get(source, {})
    first, _floor = times.get(str(best), [0, 0])
    last, _floor = times.get(str(worst), [0, 0])
    return best * PLACE + first + 1, worst * PLACE + last + pages[worst]


def _foretold(
    source: int | str, pages: Counter[int], unknown: set[str], found: Found, defaults: Policy,
    now: int,
) -> PlannedSource:  # fmt: skip
    total = pages.total()
    if isinstance(source, str):
        pace, robots = Pace(defaults, rest_until=now), len(unknown) if defaults.robots else 0
        first, last = (start_of(pace, n + robots, now) for n in (1, total))
        return PlannedSource(source, total, 0, first, last, pace, unknown_robots=robots)
    standing = found.standings[source]
    joined = found.joined.get(source, 0)
    first, last = found.before.get(source, (0, 0))
    robots = len(standing.unknown_robots | unknown) if standing.policy.robots else 0
    return PlannedSource(
        standing.row.name, total, last,
        standing.start_of(first + 1, now, also_unknown=unknown),
        standing.start_of(max(last + total, joined), now, also_unknown=unknown),
        standing.pace, standing.pace.strain.recent, robots, next(paused(standing), None),
    )  # fmt: skip
