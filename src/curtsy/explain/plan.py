"""What a job would come to if it were submitted now: nothing is written, nothing is asked for."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import zstandard

from curtsy.explain.advice import Advice, Late, advise
from curtsy.explain.blockers import Blocker, WorkersAtWork, paused
from curtsy.explain.outlook import PLACE, SourceSnapshot, source_snapshots, visits_up_to
from curtsy.frontier.admit import Admission, Wanted
from curtsy.frontier.ranks import Ranks, VirtualTimes, virtual_times
from curtsy.frontier.sources import expected_sources
from curtsy.model.domains import home_of
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
    if_first: int | None = None
    """Visits before its last page if all of them had priority 1; None: they have."""
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
    snapshots: Mapping[int, SourceSnapshot]
    ranks: VirtualTimes
    robots: Mapping[str, bytes]
    placed: Mapping[int, "Placed"] = field(default_factory=dict)
    hands: WorkersAtWork = field(default_factory=lambda: WorkersAtWork(()))


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a job's pages would come in a source's order: visits that wait there already."""

    before_first: int
    up_to_last: int
    """Those that it would join included."""
    if_first: int | None
    """The same if all its pages had priority 1; None: they have."""


class _Span:
    """The places that a job's pages would have in one source."""

    def __init__(self) -> None:
        self.before: list[int] = []
        self.at: list[int] = []
        self.joined: list[int] = []
        """Where they wait now."""

    def add(self, page: Wanted, rank: int, row: Any) -> None:
        own = page.priority * PLACE + rank
        if row is None or row.joined is None:
            self.before.append(own)
            self.at.append(own)
            return
        waits = row.priority * PLACE + row.rank
        self.before.append(min(own, waits - 1))
        self.at.append(min(own, waits))
        self.joined.append(waits)

    def move_up(self) -> int:
        """Visits behind the job's last page that it takes with it before that."""
        return sum(waits > max(self.at) for waits in self.joined)


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
    found = Found(known, source_of, source_snapshots(connection, ids, defaults, now=now),
                  virtual_times(connection, ids),
                  {kept.host: bytes(kept.robots) for kept in
                   _ROBOTS(connection, wanted=asked, now=now)},
                  hands=WorkersAtWork.now(connection, now))  # fmt: skip
    return _placed(connection, wanted, found, now)


def _placed(connection: Connection, wanted: Sequence[Wanted], found: Found, now: int) -> Found:
    """Pages that are fresh take a place, as when they are admitted, but need none."""
    spans: dict[int, _Span] = {}
    ranks = Ranks(found.ranks)
    for page in wanted:
        source, row = _source_of(page, found), found.known.get(page.fingerprint)
        rank = ranks.take(source, page.priority) if isinstance(source, int) else 0
        if row is not None and row.joined is not None:
            source = row.joined
        if isinstance(source, int) and not _is_fresh(page, found):
            spans.setdefault(source, _Span()).add(page, rank, row)
    places = {i: (min(s.before), max(s.at), _if_first(i, len(s.at), found))
              for i, s in spans.items()}  # fmt: skip
    visits = visits_up_to(connection, {(i, at) for i, all_ in places.items() for at in all_},
                          now=now)  # fmt: skip
    placed = {}
    for i, (first, last, urgent) in places.items():
        if_first = visits[i, urgent] if last >= 2 * PLACE else None
        placed[i] = Placed(visits[i, first], visits[i, last] + spans[i].move_up(), if_first)
    return replace(found, placed=placed)


def _if_first(source: int, pages: int, found: Found) -> int:
    """The place of the last of so many pages of priority 1."""
    virtual_time, _floor = found.ranks.get(source, {}).get("1", [0, 0])
    return PLACE + virtual_time + pages


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
    return Late(source.name, source.pace, source.ahead, source.if_first, source.unknown_robots,
                source.pages, source.answer_ms, finish_by, now)  # fmt: skip


def _sources(
    new: Sequence[Wanted], found: Found, defaults: Policy, now: int
) -> list[PlannedSource]:
    unknown: dict[int | str, set[str]] = {}
    for page in new:
        if page.host not in found.robots:
            unknown.setdefault(_source_of(page, found), set()).add(page.host)
    pages = _by_source(new, found)
    most = [*pages.items(), *((i, 0) for i in found.placed if i not in pages)]
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
    snapshot = found.snapshots.get(source) if source is not None else None
    return snapshot.policy if snapshot is not None else defaults


def _by_source(wanted: Sequence[Wanted], found: Found) -> dict[int | str, int]:
    """By the source, or the name of one that would be new: pages; the most first."""
    return dict(Counter(_source_of(page, found) for page in wanted).most_common())


def _source_of(page: Wanted, found: Found) -> int | str:
    return found.source_of.get(page.host, home_of(page.host))


def _foretold(
    source: int | str, new: int, unknown: set[str], found: Found, defaults: Policy, now: int
) -> PlannedSource:
    if isinstance(source, str):
        pace, robots = Pace(defaults, rest_until=now), len(unknown) if defaults.robots else 0
        first, last = (start_of(pace, n + robots, now) for n in (1, new))
        return PlannedSource(source, new, 0, first, last, pace, unknown_robots=robots)
    snapshot, placed = found.snapshots[source], found.placed[source]
    robots = len(snapshot.unknown_robots | unknown) if snapshot.policy.robots else 0
    return PlannedSource(
        snapshot.row.name, new, placed.up_to_last,
        snapshot.start_of_place(placed.before_first + 1, now, also_unknown=unknown),
        snapshot.start_of_place(placed.up_to_last + new, now, also_unknown=unknown),
        snapshot.pace, snapshot.pace.strain.recent, robots, placed.if_first,
        next(paused(snapshot), None),
    )  # fmt: skip
