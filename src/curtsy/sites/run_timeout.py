"""Runs of sites that last too long are ended, so that the next may begin; what they have stays.

Time counts from when a run began, or went on after a pause or a retry: what waits for its turn has
not begun, and another run would wait as long. One that somebody paused is left to them.
"""

from contextlib import suppress

from curtsy.clock import DAY, HOUR, SECOND, Clock
from curtsy.errors import NotFound, WrongState
from curtsy.frontier.fence import TimeShifted, require_same_time
from curtsy.jobs import cancel
from curtsy.model.jobs import JobState
from curtsy.sites.runs import log_run
from curtsy.store import Connection, Statement, Store

BATCH = 100
LOOK_EVERY_SECONDS = 5.0
LONGEST_WAIT = DAY
"""For a run to begin; longer if a run may last longer."""

_OVERDUE = """
    SELECT j.public_id, j.name, j.state FROM jobs j
    WHERE j.site_id IS NOT NULL AND j.finished_at IS NULL AND j.paused_at IS NULL
      AND j.created_at <= :began
      AND (SELECT max(e.at) FROM events e WHERE e.job_id = j.id
           AND e.name IN ('job_queued', 'job_started', 'job_retried', 'job_resumed'))
          <= CASE j.state WHEN 'running' THEN CAST(:began AS bigint)
                          ELSE CAST(:queued AS bigint) END
"""
_SOME = Statement(f"{_OVERDUE} ORDER BY j.site_id LIMIT :most")
_THIS = Statement(f"{_OVERDUE} AND j.public_id = :run")


class RunTimeouts:
    def __init__(self, *, store: Store, clock: Clock, run_timeout: int) -> None:
        self._store, self._clock, self._run_timeout = store, clock, run_timeout
        self._longest_wait = max(LONGEST_WAIT, run_timeout)

    async def step(self) -> float:
        """A duty. Each run in a transaction of its own, which any number of processes may try."""
        runs = await self._store.read(lambda c: list(_SOME(c, most=BATCH, **self._limits())))
        try:
            for run in runs:
                with suppress(NotFound, WrongState):  # it has just ended by itself
                    if await self._store.write(lambda c: self._end(c, run.public_id)):  # noqa: B023
                        log_run("run_timed_out", run.name, run.public_id, JobState.CANCELLED)
        except TimeShifted:
            return 0.2  # by another clock they may have time left
        return 0.0 if len(runs) == BATCH else LOOK_EVERY_SECONDS

    def _limits(self) -> dict[str, int]:
        now = self._clock.now()
        return {"began": now - self._run_timeout, "queued": now - self._longest_wait}

    def _end(self, connection: Connection, run: str) -> bool:
        """Asked again here: it may have been retried or resumed since."""
        require_same_time(connection, self._clock.version)
        row = _THIS(connection, run=run, **self._limits()).one_or_none()
        if row is None:
            return False
        cancel(connection, run, now=self._clock.now(), reason=self._reason(row.state))
        return True

    def _reason(self, state: str) -> str:
        if state == JobState.RUNNING:
            return (
                f"The run was ended after {self._run_timeout / SECOND:g} seconds, the most that "
                "one may last; what it had fetched is kept. Raise RUN_TIMEOUT or ask for fewer "
                "results."
            )
        return (
            f"The run was ended: it could not begin within {self._longest_wait / HOUR:g} hours. "
            "While another waits, its `why` tells what it waits for."
        )
