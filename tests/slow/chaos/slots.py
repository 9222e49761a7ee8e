"""Schedules whose slots are known beforehand, and what must be found of them in the end."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from curtsy.clock import MINUTE, SECOND
from curtsy.schedules.schedule import ScheduleSpec, create
from curtsy.schedules.verdict import CatchUp, Overlap
from curtsy.store import Connection
from curtsy.timetable import Every, Once, Rule, slot_after
from support.sql import run, text

SURE: dict[str, Any] = {"catch_up": CatchUp.ALL, "overlap": Overlap.ALLOW}
"""Lateness excuses nothing: each slot has its job."""
CLOCKS_APART = 1_000
"""So far two processes' ideas of the database's time may differ (milliseconds): its clock may be
set meanwhile, and not all have heard of it."""

_BACK = text("UPDATE schedules SET next_fire_at = :at, look_at = :at WHERE id = :id")
_SCHEDULES = text("SELECT id, next_fire_at, look_at FROM schedules")
_FIRINGS = text(  # the maintenance timetable is not of the test
    """
    SELECT schedule_id, fire_at, fired_at, outcome, job_id FROM firings
    WHERE schedule_id NOT IN (SELECT id FROM schedules WHERE name LIKE 'maintenance:%')
    """
)
_JOBS = text(
    """
    SELECT j.id, j.schedule_id, j.trigger, j.created_at, count(*) AS pages, min(p.url) AS url
    FROM jobs j JOIN items i ON i.job_id = j.id JOIN pages p ON p.id = i.page_id
    GROUP BY j.id, j.schedule_id, j.trigger, j.created_at
    """
)
_LATE = text("SELECT count(*) FROM schedules WHERE look_at <= :now")


class Known(NamedTuple):
    """A schedule, and the first slot that has not fired."""

    id: int
    seed: str
    rule: Rule
    first: int
    sure: bool
    """Each of its slots has a job; of others each has a row."""

    @property
    def url(self) -> str:
        return url_of(self.seed)

    def slots(self) -> Iterator[int]:
        slot: int | None = self.first
        while slot is not None:
            yield slot
            slot = slot_after(self.rule, slot, seed=self.seed)


def url_of(seed: str) -> str:
    """Of the one page that the schedule's jobs want."""
    return f"https://{seed.replace('_', '-')}.example/"


def plan_some(
    connection: Connection, rng: random.Random, *, once: int, every: int, now: int, seconds: float
) -> list[Known]:
    """So many for one moment each, from now on, and so many for every minute; half of them sure.

    Those of the latter begin some minutes ago: their slots have been waiting, however long the
    test lasts.
    """
    made = []
    for number in range(once + every):
        if number < once:
            rule: Rule = Once(now + rng.randint(0, round(seconds * SECOND)))
        else:
            rule = Every(1)
        sure = number % 2 == 0
        seed = f"sch_{rng.getrandbits(48):012x}"
        plan = ScheduleSpec(name="", rule=rule, payload={"fetch": {"url": url_of(seed)}},
                    **SURE if sure else {})  # fmt: skip
        begin = now if number < once else now - rng.randint(1, 5) * MINUTE
        row = create(connection, plan, now=min(begin, now - 1), public_id=seed)
        made.append(Known(row.id, seed, rule, row.next_fire_at, sure))
    return made


def late(connection: Connection, now: int) -> int:
    """How many wait to be looked at."""
    return int(run(connection, _LATE, {"now": now}).scalar_one())


class Found(NamedTuple):
    wrong: list[str]
    outcomes: Counter[str]

    @property
    def slots(self) -> int:
        return self.outcomes.total()


def reckon(connection: Connection, known: Sequence[Known], *, until: int) -> Found:
    """All that is wrong with what is stored; every slot until then must have been seen to."""
    rows = {row.id: row for row in run(connection, _SCHEDULES)}
    firings = run(connection, _FIRINGS).all()
    jobs = {row.id: row for row in run(connection, _JOBS)}
    by_schedule: dict[int, list[Any]] = {one.id: [] for one in known}
    for firing in firings:
        by_schedule[firing.schedule_id].append(firing)
    wrong: list[str] = []
    for one in known:
        wrong += _wrong_slots(one, rows[one.id], by_schedule[one.id], until)
        wrong += _wrong_jobs(one, by_schedule[one.id], jobs)
    wrong += _strays(firings, jobs)
    return Found(wrong, Counter(firing.outcome for firing in firings))


def _wrong_slots(one: Known, row: Any, firings: Sequence[Any], until: int) -> Iterator[str]:
    """Those that the rule has up to the next one have their row, and there are no others."""
    expected = []
    for slot in one.slots():
        if row.next_fire_at is not None and slot >= row.next_fire_at:
            if slot != row.next_fire_at or slot <= until:
                yield f"{one.seed} is to fire at {row.next_fire_at}, by its rule at {slot}"
            break
        expected.append(slot)
    if row.look_at != row.next_fire_at:
        yield f"{one.seed} is looked at at {row.look_at}, its slot is {row.next_fire_at}"
    counts = Counter(firing.fire_at for firing in firings)
    for slot in expected:
        if counts[slot] != 1:
            yield f"{one.seed} has {counts[slot]} firings of its slot {slot}"
    for slot in counts.keys() - set(expected):
        yield f"{one.seed} has a firing at {slot}, which is none of its slots"


def _wrong_jobs(one: Known, firings: Sequence[Any], jobs: dict[int, Any]) -> Iterator[str]:
    for firing in firings:
        if firing.fired_at < firing.fire_at:
            yield f"{one.seed} fired at {firing.fired_at}, before its slot {firing.fire_at}"
        if one.sure and firing.outcome != "fired":
            yield f"{one.seed} is sure, but {firing.outcome} its slot {firing.fire_at}"
        if (firing.outcome == "fired") != (firing.job_id is not None):
            yield f"{one.seed} {firing.outcome} its slot, with job {firing.job_id}"
        job = jobs.get(firing.job_id)
        if firing.job_id is not None and job is None:
            yield f"{one.seed} fired its slot for job {firing.job_id}, which is nowhere"
        if job is not None:
            if (job.schedule_id, job.trigger, job.pages) != (one.id, "schedule", 1):
                yield f"{one.seed} (id {one.id}) has the job {tuple(job)}"
            if job.url != one.url or job.created_at < firing.fire_at - CLOCKS_APART:
                yield f"{one.seed} has for its slot {firing.fire_at} the job {tuple(job)}"


def _strays(firings: Sequence[Any], jobs: dict[int, Any]) -> Iterator[str]:
    of = Counter(firing.job_id for firing in firings if firing.job_id is not None)
    for job in jobs.values():
        if of[job.id] != 1:
            yield f"job {job.id} of schedule {job.schedule_id} has {of[job.id]} slots"
    fired = sum(firing.outcome == "fired" for firing in firings)
    if fired != len(jobs):
        yield f"{fired} slots fired and {len(jobs)} jobs came"
