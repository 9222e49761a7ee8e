"""Fires slots: the firing, its job and the schedule's next slot are one transaction.

Only the process that has locked a schedule's row decides about the schedule, and the primary key
(schedule, slot) of firings decides whether a slot fires: with any number of schedulers a slot has
one job.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import orjson

from curtsy.clock import Clock
from curtsy.errors import BadRequest, CurtsyError, NotFound, OverLimit, WrongState
from curtsy.frontier.fence import require_same_time
from curtsy.jobs import JobOrigin, JobRequest, SubmitLimits, cancel
from curtsy.jobs.admission import Submission, admit_jobs
from curtsy.jobs.backlog import Backlog
from curtsy.jobs.insert import set_due
from curtsy.jobs.job_request import check
from curtsy.model.job_states import JobState, new_job_id
from curtsy.schedules.due import firings_of, limit_batch, verdicts
from curtsy.schedules.firings import FiringResult, Outcome, Trigger, claim, settle
from curtsy.schedules.lookup import COLUMNS, Schedule
from curtsy.schedules.verdict import Verdict
from curtsy.store import Connection, Statement

BATCH = 50
KEY_INVALID = (
    "The API key of this schedule is revoked or has expired: change the schedule with a valid key."
)

_DUE = Statement(
    f"""
    SELECT {COLUMNS} FROM schedules s WHERE s.look_at <= :now
    ORDER BY s.look_at LIMIT :most {{lock_skip}}
    """  # noqa: S608
)
_DUE_BY_ID = Statement(
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
_KEY_VALID = Statement(
    """
    SELECT 1 FROM api_keys WHERE id = :id AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > :now)
    """
)
_JOB_STATE = Statement("SELECT state FROM jobs WHERE public_id = :job {lock}")


@dataclass(frozen=True, slots=True)
class MaintenanceTask:
    """A task that curtsy runs for itself, by name."""

    name: str


class Owner(Protocol):
    """A schedule, or the spec of one: the user, key and site that its jobs get."""

    @property
    def user_id(self) -> str | None: ...
    @property
    def key_id(self) -> int | None: ...
    @property
    def site_id(self) -> int | None: ...


Task = JobRequest | MaintenanceTask
TaskOf = Callable[[Connection, Mapping[str, Any], Owner, int], Task]
"""Parses a payload, for its owner and at this time. Raises `BadRequest`."""
CheckPayload = Callable[[Connection, Mapping[str, Any], Owner, int], None]
"""Raises `BadRequest` for a payload whose job would be refused."""


class Fired(NamedTuple):
    """A claimed slot and its outcome."""

    schedule: Schedule
    fire_at: int
    outcome: Outcome
    job: str | None = None
    message: str | None = None
    task: str | None = None
    """The maintenance task that the slot started."""
    refusal: Exception | None = None


class FireResult(NamedTuple):
    fired: list[Fired]
    has_moved: bool
    """Slots were resolved, even if only skipped: more of them may be due."""


class Firer:
    def __init__(
        self, *, clock: Clock, limits: SubmitLimits, delay_ms: int, task_of: TaskOf,
        pending: Backlog,
    ) -> None:  # fmt: skip
        self._clock, self._limits, self._delay_ms = clock, limits, delay_ms
        self._task_of, self.pending = task_of, pending

    def check(
        self, connection: Connection, payload: Mapping[str, Any], owner: Owner, now: int
    ) -> None:
        """Raises `BadRequest` if the job of this payload would be refused now."""
        task = self._task_of(connection, payload, owner, now)
        if not isinstance(task, MaintenanceTask):
            check(task, self._limits)

    def fire_due(
        self, connection: Connection, *, now: int, only: Sequence[int] | None = None
    ) -> FireResult:
        """Fires a batch of due schedules, or these ones, and advances them to their next slots."""
        if only is None:
            rows = limit_batch(_DUE(connection, now=now, most=BATCH))
        else:
            rows = limit_batch(_DUE_BY_ID(connection, wanted=[(i,) for i in only], now=now))
        self.require_same_time(connection)  # a shift of the clock waits for our locks
        if not rows:
            return FireResult([], has_moved=False)
        judged = verdicts(connection, rows, now)
        rows = [row for row in rows if not self._must_wait(connection, row, judged[row.id], now)]
        firings = [firing for row in rows for firing in firings_of(row.id, judged[row.id], now)]
        claimed = claim(connection, firings, now=now)
        firing = [(row, at) for row in rows if (at := judged[row.id].fire) is not None
                  and (row.id, at) in claimed]  # fmt: skip
        fired = self.fire(connection, firing, now=now)
        firing_ids = {row.id for row, _at in firing}
        _advance(connection, rows, judged, firing_ids)
        for row in rows:
            if row.first_job and row.id not in firing_ids:
                _postpone_first_job(connection, row.first_job, judged[row.id], now)
        return FireResult(fired, has_moved=bool(rows))

    def _must_wait(self, connection: Connection, row: Schedule, verdict: Verdict, now: int) -> bool:
        """Whether the slot replaces a run that is not cancelled yet: `overlap.replace_run` cancels
        the run, then the slot fires. A slot that would be refused replaces nothing."""
        return verdict.replaces and self.refusal(connection, row, now) is None

    def refusal(self, connection: Connection, row: Schedule, now: int) -> CurtsyError | None:
        """Returns why a slot of this schedule would be refused, as far as that is known before."""
        try:
            task = self._parse(connection, row, now)
            if not isinstance(task, MaintenanceTask):
                check(task, self._limits)
        except (BadRequest, OverLimit) as refused:
            return refused
        return None

    def require_same_time(self, connection: Connection) -> None:
        """Raises `TimeShifted` in a process that does not know yet that the clock jumped."""
        require_same_time(connection, self._clock.version)

    def fire(
        self, connection: Connection, firing: Sequence[tuple[Schedule, int]], *, now: int,
        trigger: Trigger = "schedule", priority: int | None = None,
    ) -> list[Fired]:  # fmt: skip
        """Submits the jobs of these claimed slots and stores the outcome of each slot. `priority`
        replaces that of the payload."""
        fired: list[Fired] = []
        submissions: dict[str, tuple[Schedule, int, Submission]] = {}
        for row, at in firing:
            try:
                task = self._task(connection, row, now, trigger, priority)
            except _FirstJobCancelled as gone:
                fired.append(Fired(row, at, "skipped", message=str(gone)))
                continue
            except (BadRequest, OverLimit) as refused:
                fired.append(_refused(row, at, refused))
                continue
            if isinstance(task, MaintenanceTask):
                fired.append(Fired(row, at, "fired", task=task.name))
            else:
                submissions[task.job] = row, at, task
        fired += self._admit(connection, submissions)
        settle(connection, [
            FiringResult(f.schedule.id, f.fire_at, f.outcome, f.job, f.message) for f in fired
        ])  # fmt: skip
        for one in fired:
            first = one.schedule.first_job if trigger == "schedule" else None
            if first is not None and one.job != first:  # refused, or now a maintenance task
                cancel_if_open(connection, first, now=now)
        return fired

    def _task(
        self, connection: Connection, row: Schedule, now: int, trigger: Trigger,
        priority: int | None,
    ) -> Submission | MaintenanceTask:  # fmt: skip
        first = row.first_job if trigger == "schedule" else None
        if first is not None and _JOB_STATE(connection, job=first).scalar() != JobState.SCHEDULED:
            raise _FirstJobCancelled
        task = self._parse(connection, row, now)
        if isinstance(task, MaintenanceTask):
            return task
        origin = replace(task.origin or JobOrigin(), schedule_id=row.id, trigger=trigger)
        task = replace(task, origin=origin, same_as=None, idempotency_key=None)
        task = task.in_session_of(f"schedule_{row.id}")
        if priority is not None:
            task = task.at_priority(priority)
        wanted = check(task, self._limits)
        self.pending.add(task.user_id, len(wanted), self._limits)
        return Submission(task, wanted, first or _new_job_id(origin))

    def _parse(self, connection: Connection, row: Schedule, now: int) -> Task:
        if row.key_id is not None and not _KEY_VALID(connection, id=row.key_id, now=now).scalar():
            raise BadRequest([KEY_INVALID])
        return self._task_of(connection, orjson.loads(row.payload), row, now)

    def _admit(
        self, connection: Connection, submissions: Mapping[str, tuple[Schedule, int, Submission]]
    ) -> Iterable[Fired]:
        if not submissions:
            return
        answers = admit_jobs(connection, [one for _row, _at, one in submissions.values()],
                             self._limits, delay_ms=self._delay_ms, clock=self._clock)  # fmt: skip
        paused = _paused_sources(connection, list(submissions))
        for job, (row, at, _submission) in submissions.items():
            answer = answers[job]
            if isinstance(answer, CurtsyError):
                yield _refused(row, at, answer)
            elif isinstance(answer, Exception):
                raise answer
            else:
                yield Fired(row, at, "fired", job=job, message=paused.get(job))


def cancel_if_open(
    connection: Connection, job: str, *, now: int, reason: str | None = None
) -> None:
    """Cancels the job of a slot that will not fire, unless the job has ended or is deleted."""
    with suppress(NotFound, WrongState):
        cancel(connection, job, now=now, reason=reason)


def run_prefix(trigger: str) -> str:
    """How the id of a site's run begins."""
    return "sched_" if trigger == "schedule" else "manual_"


def _paused_sources(connection: Connection, jobs: Sequence[str]) -> dict[str, str]:
    """Returns a message for each job whose first page belongs to a paused source, by job."""
    rows = _PAUSED(connection, wanted=[(job,) for job in jobs])
    return {row.public_id: f"Its source {row.name} is paused: its pages wait." for row in rows}


def _postpone_first_job(connection: Connection, first_job: str, verdict: Verdict, now: int) -> None:
    """Moves the first job to the next slot, since this slot passed without firing."""
    if verdict.look_at is None:
        cancel_if_open(connection, first_job, now=now)
    elif verdict.waiting is None:
        set_due(connection, first_job, verdict.next_fire_at)


class _FirstJobCancelled(Exception):
    def __str__(self) -> str:
        return "The slot's job was cancelled before the slot came."


def _refused(row: Schedule, at: int, error: CurtsyError) -> Fired:
    return Fired(row, at, "refused", message=str(error)[:1_000], refusal=error)


def _new_job_id(origin: JobOrigin) -> str:
    name = new_job_id()
    return name if origin.site_id is None else name.replace("job_", run_prefix(origin.trigger))


def _advance(
    connection: Connection, rows: Sequence[Schedule], judged: Mapping[int, Verdict],
    firing_ids: Set[int],
) -> None:  # fmt: skip
    """Stores the next slots. A schedule that fired has used up its first job."""
    advanced = []
    for row in rows:
        verdict, first = judged[row.id], None if row.id in firing_ids else row.first_job
        advanced.append((row.id, verdict.next_fire_at, verdict.look_at, verdict.waiting, first,
                         verdict.fire))  # fmt: skip
    _ADVANCE(connection, advanced=advanced)
