"""Reads the input of a preview from the store: schedules, and the sources of their pages."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import orjson

from curtsy.errors import BadRequest
from curtsy.explain.outlook import PLACE, job_outlook, source_snapshots, visits_up_to
from curtsy.frontier.sources import expected_sources
from curtsy.jobs import JobRequest, SubmitLimits
from curtsy.jobs.job_request import check
from curtsy.model.domains import home_of
from curtsy.politeness.pace import Pace
from curtsy.politeness.policy import Policy
from curtsy.schedules.due import schedule_state
from curtsy.schedules.firer import MaintenanceTask, TaskOf
from curtsy.schedules.listing import list_schedules
from curtsy.schedules.lookup import Schedule
from curtsy.schedules.preview.simulation import PageDemand, SimulatedSchedule
from curtsy.schedules.preview.source_queue import SourceState
from curtsy.store import Connection, Statement
from curtsy.timetable import BadRule, Cron, from_json, slots

AT_A_TIME = 500
MOST_SCHEDULES = 5_000
LAST_PLACE = 11 * PLACE
"""Behind all waiting visits."""

_OPEN_RUNS = Statement(
    """
    SELECT id, schedule_id, site_id FROM jobs
    WHERE schedule_id IN (SELECT id FROM {wanted}) AND schedule_id IS NOT NULL
      AND finished_at IS NULL AND state <> 'scheduled' ORDER BY id LIMIT :most
    """,
    wanted={"id": "bigint"},
)
MOST_OPEN_RUNS = 200


_Key = int | tuple[str, int] | None
"""The id of a schedule, or a site."""


class Survey(NamedTuple):
    schedules: Sequence[SimulatedSchedule]
    sources: Mapping[str, SourceState]
    all_of_them: bool
    """False: schedules were left out, because there are too many or their rules cannot be read."""


class _Task(NamedTuple):
    request: JobRequest | None = None
    pages: Mapping[tuple[str, int], int] = {}
    """By host and priority."""
    refused: str | None = None


class Surveyor:
    """Reads the schedules of all users, or of one user."""

    def __init__(self, *, task_of: TaskOf, limits: SubmitLimits, defaults: Policy) -> None:
        self._task_of, self._limits, self._defaults = task_of, limits, defaults

    def survey(self, connection: Connection, *, user: str | None, now: int) -> Survey:
        found = list(_rows(connection, user))
        rows = [row for row in found if _has_slots(row)]
        tasks = {row.id: self._task(connection, row, now) for row in rows}
        hosts = {host for task in tasks.values() for host, _priority in task.pages}
        names, sources = self._sources(connection, hosts, now)
        open_runs = self._open_runs(connection, rows, now)
        schedules = [
            _simulated(row, tasks[row.id], names, open_runs) for row in rows[:MOST_SCHEDULES]
        ]
        return Survey(schedules, sources, len(schedules) == len(found))

    def _task(self, connection: Connection, row: Schedule, now: int) -> _Task:
        try:
            task = self._task_of(connection, orjson.loads(row.payload), row, now)
            if isinstance(task, MaintenanceTask):
                return _Task()
            pages = Counter((page.host, page.priority) for page in check(task, self._limits))
        except BadRequest as refused:
            return _Task(refused=str(refused)[:1_000])
        return _Task(task, pages)

    def _sources(
        self, connection: Connection, hosts: set[str], now: int
    ) -> tuple[dict[str, str], dict[str, SourceState]]:
        """Returns the name of the source of each host, and the sources by name; sources that do not
        exist yet are included."""
        ids = expected_sources(connection, hosts)
        there = sorted(set(ids.values()))
        snapshots = source_snapshots(connection, there, self._defaults, now=now)
        ahead = visits_up_to(connection, {(one, LAST_PLACE) for one in there}, now=now)
        sources = {
            found.row.name: SourceState(found.row.name, found.pace, ahead[one, LAST_PLACE],
                                      len(found.unknown_robots), bool(found.row.paused))
            for one, found in snapshots.items()
        }  # fmt: skip
        names: dict[str, str] = {}
        for host in hosts:
            one = ids.get(host)
            names[host] = home_of(host) if one is None else snapshots[one].row.name
            new = Pace(self._defaults, rest_until=now)
            sources.setdefault(names[host], SourceState(names[host], new, unknown_robots=1))
        return names, sources

    def _open_runs(
        self, connection: Connection, rows: Sequence[Schedule], now: int
    ) -> dict[_Key, int]:
        """Returns the expected ends of open runs, by schedule and by site."""
        wanted = [(row.id,) for row in rows]
        ends: dict[_Key, int] = {}
        for job in _OPEN_RUNS(connection, wanted=wanted, most=MOST_OPEN_RUNS) if wanted else ():
            finish_at = job_outlook(connection, job.id, self._defaults, now=now).finish_at or now
            for key in (job.schedule_id, _site_key(job.site_id)):
                ends[key] = max(ends.get(key, 0), finish_at)
        return ends


def _rows(connection: Connection, user: str | None) -> Iterator[Schedule]:
    """Returns the enabled schedules, and stops soon after `MOST_SCHEDULES`."""
    after, found = 0, 0
    while listed := list_schedules(connection, user=user, after=after, most=AT_A_TIME):
        after = listed[-1].schedule.id
        for row in (one.schedule for one in listed):
            if row.enabled and row.look_at is not None:
                found += 1
                yield row
        if found > MOST_SCHEDULES:
            return


def _has_slots(row: Schedule) -> bool:
    """False for a rule whose time zone is not known any more: its slots are refused."""
    try:
        if isinstance(rule := from_json(row.rule), Cron):
            slots(rule, after=0, until=0, seed="")
    except BadRule:
        return False
    return True


def _simulated(
    row: Schedule, task: _Task, names: Mapping[str, str], open_runs: Mapping[_Key, int]
) -> SimulatedSchedule:
    max_age = _max_age(task.request) if task.request is not None else 0
    site = _site_key(row.site_id)
    assert row.look_at is not None
    return SimulatedSchedule(
        id=row.public_id, name=row.name, look_at=row.look_at, demands=_demands(task, names),
        schedule_state=schedule_state(row, is_busy=False, ended_at=None), refused=task.refused,
        max_age=max_age, fetched_at=row.last_fire_at if max_age else None, shares=site,
        busy_until=max(open_runs.get(row.id, 0), open_runs.get(site, 0) if site is not None else 0),
    )  # fmt: skip


def _site_key(site_id: int | None) -> tuple[str, int] | None:
    return None if site_id is None else ("site", site_id)


def _max_age(request: JobRequest) -> int:
    """Pages whose links are followed are always fetched."""
    return 0 if request.crawl is not None and request.crawl.depth else request.max_age


def _demands(task: _Task, names: Mapping[str, str]) -> list[PageDemand]:
    """Assumes that all pages of a crawl belong to the sources of its start pages."""
    pages: Counter[tuple[str, int]] = Counter()
    for (host, priority), number in task.pages.items():
        pages[names[host], priority] += number
    start_pages, crawl = pages.total(), task.request.crawl if task.request is not None else None
    more = max(0, crawl.max_pages - start_pages) if crawl is not None and crawl.depth else 0
    return [PageDemand(source, number, number + more * number // start_pages, priority)
            for (source, priority), number in pages.items()]  # fmt: skip
