"""A job's plan: what would happen if it were submitted now. Writes nothing and sends no request."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import zstandard

from curtsy.explain.advice import Advice, LateSource, advise
from curtsy.explain.blockers import Blocker, LiveWorkers, pause_blockers
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
"""Hosts whose stored robots.txt is checked: those with most pages."""
SOURCES_PREDICTED = 500
SHOWN = 100
"""Denied URLs and sources that a plan lists."""

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


class KnownPage(NamedTuple):
    """A page that is stored already."""

    fingerprint: str
    joined: int | None
    """The source whose queue has a visit for the page; None: no job waits for the page."""
    priority: int | None
    rank: int | None
    fresh: bool
    """The stored document is younger than `max_age`: the page need not be fetched."""

    @property
    def place(self) -> int | None:
        """The place of the page's visit in its source's order."""
        if self.priority is None or self.rank is None:
            return None
        return self.priority * PLACE + self.rank


@dataclass(frozen=True, slots=True)
class PlannedSource:
    name: str
    pages: int
    """Requests that the job adds."""
    ahead: int
    """Visits that would precede the job's last page."""
    first_start_at: int
    last_start_at: int
    pace: Pace
    answer_ms: float = 0.0
    unknown_robots: int = 0
    """Requests for robots.txt that would precede the pages."""
    if_first: int | None = None
    """Visits before the last page if all pages of the job had priority 1; None: they have."""
    paused: Blocker | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    total: int
    new: int
    cached: int
    joined: int
    """Pages that another job waits for already: they are fetched once for both."""
    refused_by_robots: Sequence[str]
    """The first hundred URLs that a known robots.txt denies."""
    refused: int
    """Pages that a known robots.txt denies."""
    guarded: Sequence[str]
    """URLs at addresses that curtsy never connects to."""
    sources: Sequence[PlannedSource]
    """The last to end comes first."""
    blockers: Sequence[Blocker]
    """Blockers that a person would have to remove first."""
    finish_at: int | None
    """The expected end if workers are running; None: a source is paused, so nobody can tell."""
    has_worker: bool
    """False: no worker accepts work, so the times count from the start of one."""
    advice: Advice | None


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a job's pages would come in a source's order, as counts of visits that wait already."""

    before_first: int
    up_to_last: int
    """Includes the visits that the job would join."""
    if_first: int | None
    """The same if all pages of the job had priority 1; None: they have."""


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What the database knows about the pages that a job wants."""

    known: Mapping[str, KnownPage]
    source_of: Mapping[str, int]
    snapshots: Mapping[int, SourceSnapshot]
    ranks: VirtualTimes
    robots: Mapping[str, bytes]
    placements: Mapping[int, Placement] = field(default_factory=dict)
    workers: LiveWorkers = field(default_factory=lambda: LiveWorkers(()))


class _Span:
    """The places that a job's pages would take in one source."""

    def __init__(self) -> None:
        self.before: list[int] = []
        self.at: list[int] = []
        self.joined: list[int] = []
        """Where the visits that the job joins wait now."""

    def add(self, page: Wanted, rank: int, waits: int | None) -> None:
        """Adds a page; `waits` is the place of its visit, if it has one already."""
        own = page.priority * PLACE + rank
        if waits is None:
            self.before.append(own)
            self.at.append(own)
            return
        self.before.append(min(own, waits - 1))
        self.at.append(min(own, waits))
        self.joined.append(waits)

    def move_up(self) -> int:
        """The number of joined visits that now wait behind the job's last page: they move up."""
        last = max(self.at)
        return sum(waits > last for waits in self.joined)


def read_plan_facts(
    connection: Connection, wanted: Sequence[Wanted], max_age: int, defaults: Policy, *, now: int
) -> PlanFacts:
    known = _known_pages(connection, wanted, max_age, now)
    hosts = Counter(page.host for page in wanted)
    source_of = expected_sources(connection, hosts)
    ids = sorted(set(source_of.values()))
    robots_hosts = [(host,) for host, _pages in hosts.most_common(HOSTS_WITH_ROBOTS)]
    facts = PlanFacts(
        known, source_of, source_snapshots(connection, ids, defaults, now=now),
        virtual_times(connection, ids),
        {row.host: bytes(row.robots) for row in
         _ROBOTS(connection, wanted=robots_hosts, now=now)},
        workers=LiveWorkers.now(connection, now),
    )  # fmt: skip
    return replace(facts, placements=_placements(connection, wanted, facts, now))


def build_plan(
    wanted: Sequence[Wanted], facts: PlanFacts, defaults: Policy, *, user_agent: str, now: int,
    finish_by: int | None = None, guarded: Sequence[str] = (),
) -> Plan:  # fmt: skip
    """Builds the plan, with advice if the job would end after `finish_by`. Pure, but slow enough to
    need a thread: it parses robots.txt files."""
    denied = set(_denied_by_robots(wanted, facts, defaults, token_of(user_agent)))
    to_fetch = [p for p in wanted if not _is_fresh(p, facts) and p.fingerprint not in denied]
    joined = sum(not _is_new(p, facts) for p in to_fetch)
    sources = _planned_sources([p for p in to_fetch if _is_new(p, facts)], facts, defaults, now)
    finish_at = sources[0].last_start_at if sources else now
    late = finish_by is not None and sources and finish_at > finish_by
    pauses = [s.paused for s in sources if s.paused is not None]
    return Plan(
        total=len(wanted) + len(guarded),
        new=len(to_fetch) - joined,
        cached=len(wanted) - len(to_fetch) - len(denied),
        joined=joined,
        refused_by_robots=[p.url for p in wanted if p.fingerprint in denied][:SHOWN],
        refused=len(denied),
        guarded=guarded,
        sources=sources,
        blockers=[*pauses, *(facts.workers.manual_blockers() if sources else ())],
        finish_at=finish_at if not pauses else None,
        has_worker=facts.workers.accept_work,
        advice=advise(_late(sources[0], finish_by or 0, now)) if late else None,
    )


def _known_pages(
    connection: Connection, wanted: Sequence[Wanted], max_age: int, now: int
) -> dict[str, KnownPage]:
    admission = Admission(0, wanted, max_age)
    known: dict[str, KnownPage] = {}
    for start in range(0, len(wanted), CHUNK):
        rows = [(p.fingerprint, admission.fresh_since(p, now))
                for p in wanted[start : start + CHUNK]]  # fmt: skip
        known |= {row.fingerprint: KnownPage._make(row)._replace(fresh=bool(row.fresh))
                  for row in _KNOWN(connection, wanted=rows)}  # fmt: skip
    return known


def _placements(
    connection: Connection, wanted: Sequence[Wanted], facts: PlanFacts, now: int
) -> dict[int, Placement]:
    """Fresh pages consume a rank, as they do on admission, but need no visit."""
    spans: dict[int, _Span] = {}
    ranks = Ranks(facts.ranks)
    for page in wanted:
        source, known = _source_of(page, facts), facts.known.get(page.fingerprint)
        rank = ranks.take(source, page.priority) if isinstance(source, int) else 0
        if known is not None and known.joined is not None:
            source = known.joined
        if isinstance(source, int) and not _is_fresh(page, facts):
            waits = known.place if known is not None else None
            spans.setdefault(source, _Span()).add(page, rank, waits)
    places = {i: (min(s.before), max(s.at), _last_place_if_first(i, len(s.at), facts))
              for i, s in spans.items()}  # fmt: skip
    visits = visits_up_to(connection, {(i, at) for i, all_ in places.items() for at in all_},
                          now=now)  # fmt: skip
    placements = {}
    for i, (first, last, urgent) in places.items():
        if_first = visits[i, urgent] if last >= 2 * PLACE else None
        placements[i] = Placement(visits[i, first], visits[i, last] + spans[i].move_up(), if_first)
    return placements


def _last_place_if_first(source: int, pages: int, facts: PlanFacts) -> int:
    """The place of the last page if this many pages had priority 1."""
    virtual_time, _floor = facts.ranks.get(source, {}).get("1", [0, 0])
    return PLACE + virtual_time + pages


def _late(source: PlannedSource, finish_by: int, now: int) -> LateSource:
    return LateSource(source.name, source.pace, source.ahead, source.if_first,
                      source.unknown_robots, source.pages, source.answer_ms, finish_by,
                      now)  # fmt: skip


def _planned_sources(
    new: Sequence[Wanted], facts: PlanFacts, defaults: Policy, now: int
) -> list[PlannedSource]:
    unknown: dict[int | str, set[str]] = {}
    for page in new:
        if page.host not in facts.robots:
            unknown.setdefault(_source_of(page, facts), set()).add(page.host)
    pages = _pages_by_source(new, facts)
    sources = [*pages.items(), *((i, 0) for i in facts.placements if i not in pages)]
    planned = [_planned_source(source, count, unknown.get(source, set()), facts, defaults, now)
               for source, count in sources[:SOURCES_PREDICTED]]  # fmt: skip
    return sorted(planned, key=lambda source: source.last_start_at, reverse=True)


def _planned_source(
    source: int | str, new: int, unknown: set[str], facts: PlanFacts, defaults: Policy, now: int
) -> PlannedSource:
    if isinstance(source, str):
        pace, robots = Pace(defaults, rest_until=now), len(unknown) if defaults.robots else 0
        first, last = (start_of(pace, n + robots, now) for n in (1, new))
        return PlannedSource(source, new, 0, first, last, pace, unknown_robots=robots)
    snapshot, placement = facts.snapshots[source], facts.placements[source]
    robots = len(snapshot.unknown_robots | unknown) if snapshot.policy.robots else 0
    return PlannedSource(
        snapshot.row.name, new, placement.up_to_last,
        snapshot.start_of_place(placement.before_first + 1, now, also_unknown=unknown),
        snapshot.start_of_place(placement.up_to_last + new, now, also_unknown=unknown),
        snapshot.pace, snapshot.pace.strain.recent, robots, placement.if_first,
        next(pause_blockers(snapshot), None),
    )  # fmt: skip


def _pages_by_source(wanted: Sequence[Wanted], facts: PlanFacts) -> dict[int | str, int]:
    """Pages by source, or by the name of a source that would be created; the most first."""
    return dict(Counter(_source_of(page, facts) for page in wanted).most_common())


def _source_of(page: Wanted, facts: PlanFacts) -> int | str:
    return facts.source_of.get(page.host, home_of(page.host))


def _is_fresh(page: Wanted, facts: PlanFacts) -> bool:
    known = facts.known.get(page.fingerprint)
    return known is not None and known.fresh


def _is_new(page: Wanted, facts: PlanFacts) -> bool:
    """Whether the page is neither fresh nor waited for by another job."""
    known = facts.known.get(page.fingerprint)
    return known is None or (known.joined is None and not known.fresh)


def _denied_by_robots(
    wanted: Sequence[Wanted], facts: PlanFacts, defaults: Policy, token: str
) -> Iterator[str]:
    """Fingerprints of the pages that a known robots.txt denies, where the policy obeys it."""
    rules: dict[str, Robots] = {}
    for page in wanted:
        if page.host not in facts.robots or not _policy(page.host, facts, defaults).robots:
            continue
        if page.host not in rules:
            file = facts.robots[page.host]
            text = zstandard.decompress(file, max_output_size=READ_BYTES) if file else b""
            agent = _policy(page.host, facts, defaults).user_agent
            rules[page.host] = robots_of(text, token_of(agent) if agent else token)
        if not rules[page.host].allows(page.url[page.url.index("/", len("https://")) :]):
            yield page.fingerprint


def _policy(host: str, facts: PlanFacts, defaults: Policy) -> Policy:
    source = facts.source_of.get(host)
    snapshot = facts.snapshots.get(source) if source is not None else None
    return snapshot.policy if snapshot is not None else defaults
