"""Slots fire: the firing, its job and the next slot in one transaction.

Whoever holds a schedule's row decides about it, and the unique row of (schedule, slot) decides
whether a slot fires: with any number of schedulers a slot has one job.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import orjson

from curtsy.clock import Clock
from curtsy.errors import BadRequest, CurtsyError, NotFound, OverLimit, WrongState
from curtsy.frontier.fence import require_same_time
from curtsy.jobs import JobRequest, Origin, SubmitLimits, cancel
from curtsy.jobs.admission import Submission, admit_jobs
from curtsy.jobs.backlog import Backlog
from curtsy.jobs.insert import set_due
from curtsy.jobs.request import check
from curtsy.model.jobs import JobState, new_job_id
from curtsy.schedules.due import COLUMNS, lines, together, verdicts
from curtsy.schedules.firings import Ended, claim, settle
from curtsy.schedules.verdict import Verdict
from curtsy.store import Connection, Statement

BATCH = 50
KEY_GONE = "The key that made this schedule holds no more: change the schedule with one that does."

_DUE = Statement(
    f"""
    SELECT {COLUMNS} FROM schedules s WHERE s.look_at <= :now
    ORDER BY s.look_at LIMIT :most {{lock_skip}}
    """  # noqa: S608
)
_THESE = Statement(
    f"""
    SELECT {COLUMNS} FROM schedules s
    WHERE s.id IN (SELECT id FROM {{wanted}}) AND s.look_at <= :now
    ORDER BY s.look_at {{lock_skip}}
    """,  # noqa: S608
    wanted={"id": "bigint"},
)
_ADVANCE = Statement(
    """
    UPDATE schedules SET next_fire_at = a.next_fire_at, look_at = a.look_at,
        waiting_fire_at = a.waiting_fire_at, first_job = a.first_job,
        last_fire_at = coalesce(a.fired, schedules.last_fire_at)
    FROM (SELECT * FROM {advanced}) a WHERE schedules.id = a.id
    """,
    advanced={"id": "bigint", "next_fire_at": "bigint", "look_at": "bigint",
              "waiting_fire_at": "bigint", "first_job": "text", "fired": "bigint"},
)  # fmt: skip
_PAUSED = Statement(
    """
    SELECT j.public_id, s.name FROM {wanted} JOIN jobs j ON j.public_id = wanted.job
    JOIN items i ON i.job_id = j.id AND i.position = 0 JOIN pages p ON p.id = i.page_id
    JOIN hosts h ON h.host = p.host JOIN sources s ON s.id = h.source_id WHERE s.paused
    """,
    wanted={"job": "text"},
)
_KEY_HOLDS = Statement(
    """
    SELECT 1 FROM api_keys WHERE id = :id AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > :now)
    """
)
_STATE = Statement("SELECT state FROM jobs WHERE public_id = :job {lock}")


@dataclass(frozen=True, slots=True)
class MaintenanceTask:
    """Something that curtsy does for itself, by its name."""

    name: str


Task = JobRequest | MaintenanceTask
TaskOf = Callable[[Connection, Mapping[str, Any], Any, int], Task]
"""From a payload, the schedule's row and the time to what is to be done; raises `BadRequest`."""


Outcome = Literal["fired", "waiting", "skipped", "missed", "refused"]


class Fired(NamedTuple):
    schedule: Any
    fire_at: int
    outcome: Outcome
    job: str | None = None
    message: str | None = None
    duty: str | None = None
    refusal: Exception | None = None


class FireResult(NamedTuple):
    """At schedules that are due."""

    fired: list[Fired]
    has_moved: bool
    """Slots were dealt with, be it that they were skipped: there may be more that are due."""


class Firer:
    def __init__(
        self, *, clock: Clock, limits: SubmitLimits, delay_ms: int, task_of: TaskOf,
        pending: Backlog,
    ) -> None:  # fmt: skip
        self._clock, self._limits, self._delay_ms = clock, limits, delay_ms
        self._task_of, self.pending = task_of, pending

    def check(self, connection: Connection, payload: Mapping[str, Any], row: Any, now: int) -> None:
        """Raise `BadRequest` if the job of this payload would be refused as it stands."""
        if payload.get("duty"):
            return  # also one that is not built yet may be planned for
        task = self._task_of(connection, payload, row, now)
        if not isinstance(task, MaintenanceTask):
            check(task, self._limits)

    def fire_due(
        self, connection: Connection, *, now: int, only: Sequence[int] | None = None
    ) -> FireResult:
        """Fires what is due, a batch or these schedules, with all that follows from it."""
        if only is None:
            rows = together(_DUE(connection, now=now, most=BATCH))
        else:
            rows = list(_THESE(connection, wanted=[(i,) for i in only], now=now))
        self.require_same_time(connection)  # a shift waits for what we hold
        if not rows:
            return FireResult([], has_moved=False)
        judged = verdicts(connection, rows, now)
        rows = [row for row in rows if not self._must_wait(connection, row, judged[row.id], now)]
        told = [line for row in rows for line in lines(row.id, judged[row.id], now)]
        claimed = claim(connection, told, now=now)
        firing = [(row, at) for row in rows if (at := judged[row.id].fire) is not None
                  and (row.id, at) in claimed]  # fmt: skip
        fired = self.fire(connection, firing, now=now)
        takes = {row.id for row, _at in firing}
        _advance(connection, rows, judged, takes)
        for row in rows:
            if row.first_job and row.id not in takes:
                _goes_on(connection, row.first_job, judged[row.id], now)
        return FireResult(fired, has_moved=bool(rows))

    def _must_wait(self, connection: Connection, row: Any, verdict: Verdict, now: int) -> bool:
        """For a run that is to give way to it, and goes on: it is looked at again when that was
        cancelled (`replacing`). One that would be refused takes no place."""
        return verdict.replaces and self.refusal(connection, row, now) is None

    def refusal(self, connection: Connection, row: Any, now: int) -> CurtsyError | None:
        """Why a slot of it would come to nothing, as far as that is known beforehand."""
        try:
            task = self._asked(connection, row, now)
            if not isinstance(task, MaintenanceTask):
                check(task, self._limits)
        except (BadRequest, OverLimit) as refused:
            return refused
        return None

    def require_same_time(self, connection: Connection) -> None:
        """Raises `TimeShifted` in a process that has not heard of a jump of the clock."""
        require_same_time(connection, self._clock.version)

    def fire(
        self, connection: Connection, firing: Sequence[tuple[Any, int]], *, now: int,
        trigger: str = "schedule",
    ) -> list[Fired]:  # fmt: skip
        """These slots, which are claimed: their jobs come in, or it is said why not."""
        fired: list[Fired] = []
        asked: dict[str, tuple[Any, int, Submission]] = {}
        for row, at in firing:
            try:
                task = self._task(connection, row, now, trigger)
            except _CalledOff as gone:
                fired.append(Fired(row, at, "skipped", message=str(gone)))
                continue
            except (BadRequest, OverLimit) as refused:
                fired.append(_refused(row, at, refused))
                continue
            if isinstance(task, MaintenanceTask):
                fired.append(Fired(row, at, "fired", duty=task.name))
            else:
                asked[task.job] = row, at, task
        fired += self._taken_in(connection, asked)
        settle(connection, [
            Ended(f.schedule.id, f.fire_at, f.outcome, f.job, f.message) for f in fired
        ])  # fmt: skip
        for one in fired:
            waits = one.schedule.first_job if trigger == "schedule" else None
            if waits is not None and one.job != waits:  # refused, or it has become a duty
                call_off(connection, waits, now=now)
        return fired

    def _task(
        self, connection: Connection, row: Any, now: int, trigger: str
    ) -> Submission | MaintenanceTask:
        first = row.first_job if trigger == "schedule" else None
        if first is not None and _STATE(connection, job=first).scalar() != JobState.SCHEDULED:
            raise _CalledOff
        task = self._asked(connection, row, now)
        if isinstance(task, MaintenanceTask):
            return task
        of = replace(task.origin or Origin(), schedule_id=row.id, trigger=trigger)
        task = replace(task, origin=of, same_as=None, idempotency_key=None)
        wanted = check(task, self._limits)
        self.pending.add(task.user_id, len(wanted), self._limits)
        return Submission(task, wanted, first or _job_name(of))

    def _asked(self, connection: Connection, row: Any, now: int) -> Task:
        if row.key_id is not None and not _KEY_HOLDS(connection, id=row.key_id, now=now).scalar():
            raise BadRequest([KEY_GONE])
        return self._task_of(connection, orjson.loads(row.payload), row, now)

    def _taken_in(
        self, connection: Connection, asked: Mapping[str, tuple[Any, int, Submission]]
    ) -> Iterable[Fired]:
        if not asked:
            return
        answers = admit_jobs(connection, [one for _row, _at, one in asked.values()], self._limits,
                          delay_ms=self._delay_ms, clock=self._clock)  # fmt: skip
        paused = _paused_sources(connection, list(asked))
        for job, (row, at, _one) in asked.items():
            answer = answers[job]
            if isinstance(answer, CurtsyError):
                yield _refused(row, at, answer)
            elif isinstance(answer, Exception):
                raise answer
            else:
                yield Fired(row, at, "fired", job=job, message=paused.get(job))


def _paused_sources(connection: Connection, jobs: Sequence[str]) -> dict[str, str]:
    """By job, a sentence where the first of its pages will have to wait for somebody."""
    rows = _PAUSED(connection, wanted=[(job,) for job in jobs])
    return {row.public_id: f"Its source {row.name} is paused: its pages wait." for row in rows}


def call_off(connection: Connection, job: str, *, now: int, reason: str | None = None) -> None:
    """The job of a slot that will not come."""
    with suppress(NotFound, WrongState):
        cancel(connection, job, now=now, reason=reason)


def _goes_on(connection: Connection, first_job: str, verdict: Verdict, now: int) -> None:
    """A slot passed without the job that waits for it: it waits for the next."""
    if verdict.look_at is None:
        call_off(connection, first_job, now=now)
    elif verdict.waiting is None:
        set_due(connection, first_job, verdict.next_fire_at)


class _CalledOff(Exception):
    def __str__(self) -> str:
        return "The slot's job was cancelled before it came."


def _refused(row: Any, at: int, error: CurtsyError) -> Fired:
    return Fired(row, at, "refused", message=str(error)[:1_000], refusal=error)


def _job_name(origin: Origin) -> str:
    name = new_job_id()
    return name if origin.site_id is None else name.replace("job_", run_prefix(origin.trigger))


def run_prefix(trigger: str) -> str:
    return "sched_" if trigger == "schedule" else "manual_"


def _advance(
    connection: Connection, rows: Sequence[Any], judged: Mapping[int, Verdict], takes: Set[int]
) -> None:
    """To the next slots. The first job goes with the first slot that takes it."""
    advanced = []
    for row in rows:
        verdict, first = judged[row.id], None if row.id in takes else row.first_job
        advanced.append((row.id, verdict.next_fire_at, verdict.look_at, verdict.waiting, first,
                         verdict.fire))  # fmt: skip
    _ADVANCE(connection, advanced=advanced)
