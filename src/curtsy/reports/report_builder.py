"""Builds a report from the history and from the tables, in one reading transaction.

The cost is bounded: lists have a length, counts have a cap, and the history of sources is read for
the busiest and the most failing of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from curtsy import __version__
from curtsy.clock import MINUTE
from curtsy.history.facts import REASONS
from curtsy.history.reader import by_source, of_sources, series, totals
from curtsy.history.totals import SourceTotals, Totals
from curtsy.model.failure_kinds import RULES, Kind
from curtsy.politeness.policy import Policy
from curtsy.reports.courtesy import courtesy
from curtsy.reports.diagnosis import waiting_visits
from curtsy.reports.open_letters import open_letters
from curtsy.reports.remedies import remedy_of
from curtsy.reports.report import (
    FailureLine,
    Point,
    Report,
    ReportFigures,
    SourceLine,
    Trigger,
    Waits,
    WorkerLine,
)
from curtsy.reports.report_findings import findings
from curtsy.reports.site_changes import site_changes
from curtsy.reports.slots import slots
from curtsy.reports.workers import all_workers
from curtsy.store import Connection

POINTS = 72
MOST_LINES = 10
BUSIEST = 100
"""Sources among which the slowest are looked for."""
FEWEST_REQUESTS = 5
"""A source with fewer is not called slow."""
MOST_WORKERS = 20
COMPARABLE = 0.9
"""The part of the period before that must be covered to compare with it."""
GONE = "a deleted source"


@dataclass(frozen=True, slots=True)
class ReportOrder:
    """Which report to make."""

    id: str
    trigger: Trigger
    since: int
    until: int
    now: int
    policy: Policy
    """Of sources that nobody described."""

    @property
    def begin_before(self) -> int:
        """Where the period of about the same length before this one begins; the history counts
        whole minutes."""
        return self.since - (self.until - self.since) // MINUTE * MINUTE


def build_report(connection: Connection, order: ReportOrder) -> Report:
    since, until = order.since, order.until
    now = totals(connection, since=since, until=until)
    before = totals(connection, since=order.begin_before, until=since)
    compared = before if _comparable(before, order) else None
    workers, waiting = all_workers(connection, now=order.now), waiting_visits(connection)
    alive = [worker for worker in workers if worker.alive]
    report = Report(
        id=order.id, at=order.now, since=since, until=until,
        covered_since=max(since, now.since) if now.since < now.until else None,
        trigger=order.trigger, version=__version__, figures=_figures(now),
        before=_figures(compared) if compared is not None else None,
        series=_series(connection, order),
        slowest=_slowest(connection, order), failing=_failing(connection, order),
        failures=_failures(now.kinds, compared.kinds if compared is not None else {}),
        letters=open_letters(connection, since=since, until=until),
        waits=Waits(**{f"{reason}_ms": now.waits.get(reason, 0) for reason in REASONS}),
        courtesy=courtesy(connection, since=since, until=until, defaults=order.policy),
        sites=site_changes(connection, since=since, until=until),
        schedules=slots(connection, since=since, until=until),
        workers=tuple(
            WorkerLine(one.id, one.machine, one.pid, one.alive, one.started_at, one.slots,
                       len(one.in_flight), one.memory_bytes)
            for one in [*alive, *(one for one in workers if not one.alive)][:MOST_WORKERS]
        ),
        workers_alive=len(alive), workers_in_all=len(workers), waiting=waiting.number,
        waiting_is_capped=waiting.capped,
    )  # fmt: skip
    return replace(report, findings=findings(report))


def _comparable(before: Totals, order: ReportOrder) -> bool:
    covered = min(before.until, order.since) - max(before.since, order.begin_before)
    return covered >= COMPARABLE * (order.until - order.since)


def _figures(found: Totals) -> ReportFigures:
    return ReportFigures(
        succeeded=found.succeeded, failed=found.failed, attempts=sum(found.attempts.values()),
        retries=found.retries, bytes=found.bytes, new_dead_letters=found.dead_letters,
        success_rate=found.success_rate, pages_per_minute=found.pages_per_minute,
        fetch_p50_ms=found.fetch.quantile(0.50), fetch_p95_ms=found.fetch.quantile(0.95),
        fetch_p99_ms=found.fetch.quantile(0.99),
    )  # fmt: skip


def _series(connection: Connection, order: ReportOrder) -> tuple[Point, ...]:
    found = series(connection, since=order.since, until=order.until, points=POINTS)
    return tuple(
        Point(one.at, one.at + one.span_ms, one.totals.succeeded, one.totals.failed,
              one.totals.fetch.quantile(0.50), one.totals.fetch.quantile(0.95))
        for one in found
    )  # fmt: skip


def _slowest(connection: Connection, order: ReportOrder) -> tuple[SourceLine, ...]:
    found = by_source(connection, since=order.since, until=order.until, most=BUSIEST)
    slow = [
        one for one in found
        if sum(one.totals.attempts.values()) >= FEWEST_REQUESTS
        and one.totals.fetch.quantile(0.95) is not None
    ]  # fmt: skip
    slow.sort(key=lambda one: -(one.totals.fetch.quantile(0.95) or 0))
    return _lines(connection, order, slow[:MOST_LINES])


def _failing(connection: Connection, order: ReportOrder) -> tuple[SourceLine, ...]:
    found = by_source(connection, since=order.since, until=order.until, most=BUSIEST, by="failures")
    bad = [one for one in found if one.totals.failed]
    bad.sort(key=lambda one: -one.totals.failed)
    return _lines(connection, order, bad[:MOST_LINES])


def _lines(
    connection: Connection, order: ReportOrder, chosen: Sequence[SourceTotals]
) -> tuple[SourceLine, ...]:
    ids = [one.source_id for one in chosen]
    before = of_sources(connection, ids, since=order.begin_before, until=order.since)
    return tuple(_line(one, before.get(one.source_id)) for one in chosen)


def _line(one: SourceTotals, before: Totals | None) -> SourceLine:
    now = one.totals
    was_there = before is not None and before.succeeded + before.failed > 0
    return SourceLine(
        source=one.name or GONE, succeeded=now.succeeded, failed=now.failed,
        fetch_p50_ms=now.fetch.quantile(0.50), fetch_p95_ms=now.fetch.quantile(0.95),
        failed_before=before.failed if before is not None and was_there else None,
        fetch_p95_ms_before=before.fetch.quantile(0.95) if before is not None else None,
        worst_kind=max(now.failed_kinds, key=lambda kind: now.failed_kinds[kind], default=None),
    )  # fmt: skip


def _failures(now: Mapping[str, int], before: Mapping[str, int]) -> tuple[FailureLine, ...]:
    lines: Iterable[FailureLine] = (
        FailureLine(kind, number, before.get(kind, 0), _means(kind), remedy_of(kind))
        for kind, number in now.items() if number
    )  # fmt: skip
    return tuple(sorted(lines, key=lambda line: (-line.number, line.kind)))


def _means(kind: str) -> str:
    """Also of a kind that a newer version counted."""
    return RULES[Kind(kind)].means if kind in set(Kind) else ""
