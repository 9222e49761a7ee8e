"""Reads what `GET /stats` shows: what happened in the last hours, and how things stand now."""

from collections.abc import Sequence
from dataclasses import dataclass

from curtsy.clock import HOUR
from curtsy.history import reader
from curtsy.history.totals import Point, SourceTotals, Totals
from curtsy.jobs.dead_letters import Group, groups
from curtsy.politeness.policy import Policy
from curtsy.reports.queue import QueueReport, queue_report
from curtsy.reports.site_runs import SiteRuns, site_runs
from curtsy.reports.source_queues import SourceQueue, source_queues
from curtsy.schedules.listing import lags_since
from curtsy.sources.source import HourlyUse, hourly_uses
from curtsy.store import Connection

MOST_LIMITS = 500
LAGS_READ = 5_000


@dataclass(frozen=True, slots=True)
class Stats:
    hours: int
    since: int
    """The period that was asked for."""
    until: int
    totals: Totals
    series: Sequence[Point]
    busiest: Sequence[SourceTotals]
    failing: Sequence[SourceTotals]
    sites: Sequence[SiteRuns]
    queue: QueueReport
    queues: Sequence[SourceQueue]
    letters: Sequence[Group]
    limits: Sequence[HourlyUse]
    lags: Sequence[int]
    """Milliseconds between slots and their firing, sorted."""
    lags_since: int


def read_stats(
    connection: Connection, defaults: Policy, *, hours: int, points: int, most: int, now: int
) -> Stats:
    """The cost does not grow with the number of sources, sites or dead letters. `most` bounds each
    list of sources and sites."""
    since = now - hours * HOUR
    until = reader.latest(connection, now=now)
    busiest = reader.by_source(connection, since=since, until=until, most=most)
    failing = reader.by_source(connection, since=since, until=until, most=most, by="failures")
    totals, series = reader.overview(connection, since=since, until=until, points=points)
    shown = {source.source_id for source in (*busiest, *failing)}
    lags, lags_from = lags_since(connection, since, most=LAGS_READ)
    return Stats(
        hours=hours, since=since, until=until, totals=totals, series=series, busiest=busiest,
        failing=failing, sites=site_runs(connection, since=since, most=most),
        queue=queue_report(connection, now=now),
        queues=source_queues(connection, most=most, also=shown),
        letters=groups(connection, kind=None, source=None),
        limits=hourly_uses(connection, defaults, most=MOST_LIMITS, now=now),
        lags=sorted(lags), lags_since=lags_from,
    )  # fmt: skip
