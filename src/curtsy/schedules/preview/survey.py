"""What the store knows of the schedules and of the sources that their runs will ask."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from curtsy.errors import BadRequest
from curtsy.explain.outlook import PLACE, job_outlook, source_snapshots, visits_up_to
from curtsy.frontier.sources import expected_sources
from curtsy.jobs import JobRequest, SubmitLimits
from curtsy.jobs.request import check
from curtsy.model.domains import home_of
from curtsy.politeness.pace import Pace
from curtsy.politeness.policy import Policy
from curtsy.schedules.due import schedule_state
from curtsy.schedules.firer import MaintenanceTask, TaskOf
from curtsy.schedules.listing import list_schedules
from curtsy.schedules.preview.simulation import Asks, Foreseen
from curtsy.schedules.preview.source_queue import SourceNow
from curtsy.store import Connection, Statement
from curtsy.timetable import BadRule, Cron, from_json, slots

AT_A_TIME = 500
MOST_SCHEDULES = 5_000
LAST_PLACE = 11 * PLACE
"""Behind all that waits."""

_GOING = Statement(
    """
    SELECT id, schedule_id, site_id FROM jobs
    WHERE schedule_id IN (SELECT id FROM {wanted}) AND schedule_id IS NOT NULL
      AND finished_at IS NULL AND state <> 'scheduled' ORDER BY id LIMIT :most
    """,
    wanted={"id": "bigint"},
)
MOST_GOING = 200


class Survey(NamedTuple):
    schedules: Sequence[Foreseen]
    sources: Mapping[str, SourceNow]
    all_of_them: bool
    """False: there are more schedules than are looked at."""


class _Task(NamedTuple):
    request: JobRequest | None = None
    pages: Mapping[tuple[str, int], int] = {}
    """By host and priority."""
    refused: str | None = None


class Surveyor:
    """Looks at the schedules of everybody, or of one user."""

    def __init__(self, *, task_of: TaskOf, limits: SubmitLimits, defaults: Policy) -> None:
        self._task_of, self._limits, self._defaults = task_of, limits, defaults

    def look_ahead(self, connection: Connection, *, user: str | None, now: int) -> Survey:
        found = list(_rows(connection, user))
        rows = [row for row in found if _has_slots(row)]
        tasks = {row.id: self._task(connection, row, now) for row in rows}
        hosts = {host for task in tasks.values() for host, _priority in task.pages}
        names, sources = self._sources(connection, hosts, now)
        going = self._going(connection, rows, now)
        schedules = [_foreseen(row, tasks[row.id], names, going) for row in rows[:MOST_SCHEDULES]]
        return Survey(schedules, sources, len(schedules) == len(found))

    def _task(self, connection: Connection, row: Any, now: int) -> _Task:
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
    ) -> tuple[dict[str, str], dict[str, SourceNow]]:
        """By host the name of its source, and the sources by name; some are yet to be made."""
        ids = expected_sources(connection, hosts)
        there = sorted(set(ids.values()))
        snapshots = source_snapshots(connection, there, self._defaults, now=now)
        ahead = visits_up_to(connection, {(one, LAST_PLACE) for one in there}, now=now)
        sources = {
            found.row.name: SourceNow(found.row.name, found.pace, ahead[one, LAST_PLACE],
                                      len(found.unknown_robots), bool(found.row.paused))
            for one, found in snapshots.items()
        }  # fmt: skip
        names: dict[str, str] = {}
        for host in hosts:
            one = ids.get(host)
            names[host] = home_of(host) if one is None else snapshots[one].row.name
            new = Pace(self._defaults, rest_until=now)
            sources.setdefault(names[host], SourceNow(names[host], new, unknown_robots=1))
        return names, sources

    def _going(self, connection: Connection, rows: Sequence[Any], now: int) -> dict[Any, int]:
        """By schedule, and by site: when what runs may be expected to end."""
        wanted = [(row.id,) for row in rows]
        ends: dict[Any, int] = {}
        for job in _GOING(connection, wanted=wanted, most=MOST_GOING) if wanted else ():
            finish_at = job_outlook(connection, job.id, self._defaults, now=now).finish_at or now
            for key in (job.schedule_id, _site(job)):
                ends[key] = max(ends.get(key, 0), finish_at)
        return ends


def _rows(connection: Connection, user: str | None) -> Iterator[Any]:
    """Those that are on; one more than are looked at says that there are more."""
    after, found = 0, 0
    while rows := list_schedules(connection, user=user, after=after, most=AT_A_TIME):
        after = rows[-1].id
        for row in rows:
            if row.enabled and row.look_at is not None:
                found += 1
                yield row
        if found > MOST_SCHEDULES:
            return


def _has_slots(row: Any) -> bool:
    """Not one whose zone nobody knows any more: its slots are refused when they come."""
    try:
        if isinstance(rule := from_json(row.rule), Cron):
            slots(rule, after=0, until=0, seed="")
    except BadRule:
        return False
    return True


def _foreseen(
    row: Any, task: _Task, names: Mapping[str, str], going: Mapping[Any, int]
) -> Foreseen:  # fmt: skip
    max_age = _max_age(task.request) if task.request is not None else 0
    site = _site(row)
    return Foreseen(
        id=row.public_id, name=row.name, look_at=row.look_at, asks=_asks(task, names),
        schedule_state=schedule_state(row, is_busy=False, ended_at=None), refused=task.refused,
        max_age=max_age, fetched_at=row.last_fire_at if max_age else None, shares=site,
        busy_until=max(going.get(row.id, 0), going.get(site, 0) if site is not None else 0),
    )  # fmt: skip


def _site(row: Any) -> tuple[str, int] | None:
    return None if row.site_id is None else ("site", row.site_id)


def _max_age(request: JobRequest) -> int:
    """A page whose links are followed is always fetched."""
    return 0 if request.crawl is not None and request.crawl.depth else request.max_age


def _asks(task: _Task, names: Mapping[str, str]) -> list[Asks]:
    """What a crawl finds is thought to lie where it begins."""
    pages: Counter[tuple[str, int]] = Counter()
    for (host, priority), number in task.pages.items():
        pages[names[host], priority] += number
    begin, crawl = pages.total(), task.request.crawl if task.request is not None else None
    more = max(0, crawl.max_pages - begin) if crawl is not None and crawl.depth else 0
    return [Asks(source, number, number + more * number // begin, priority)
            for (source, priority), number in pages.items()]  # fmt: skip
