"""Cancels runs of sites that take too long, so that the next run can start; fetched pages stay.

The time of a run counts from its start, or from its last resume or retry: a queued run has not
started, and another run would wait as long. The pauses that the site's policy demands between pages
do not count: each page that has ended adds one to the time that the run may take. Rests and closed
hours count, so that they do not hold the site. Paused runs are never cancelled.
"""

from contextlib import suppress
from typing import NamedTuple

from curtsy.clock import DAY, HOUR, SECOND, Clock
from curtsy.errors import NotFound, WrongState
from curtsy.events.run_log import log_run
from curtsy.frontier.fence import TimeShifted, require_same_time
from curtsy.jobs import cancel
from curtsy.model.job_states import JobState
from curtsy.store import Connection, Statement, Store

BATCH = 100
POLL_SECONDS = 5.0
LONGEST_WAIT = DAY
"""From submission to start; longer if a run may take longer."""

_OVERDUE = """
    SELECT j.public_id, j.name, j.state FROM jobs j
    WHERE j.site_id IS NOT NULL AND j.finished_at IS NULL AND j.paused_at IS NULL
      AND j.created_at <= :began
      AND (SELECT max(e.at) FROM events e WHERE e.job_id = j.id
           AND e.name IN ('job_queued', 'job_started', 'job_retried', 'job_resumed'))
          <= CASE j.state WHEN 'running'
             THEN CAST(:began AS bigint) - (j.done + j.failed - j.cached) * coalesce((
                SELECT s.delay_ms FROM sources s WHERE s.id = (
                SELECT h.source_id FROM hosts h WHERE h.host = (
                SELECT p.host FROM pages p WHERE p.id = (
                SELECT i.page_id FROM items i WHERE i.job_id = j.id AND i.position = 0)))), 0)
             ELSE CAST(:queued AS bigint) END
"""
_SOME = Statement(f"{_OVERDUE} ORDER BY j.site_id LIMIT :most")
_THIS = Statement(f"{_OVERDUE} AND j.public_id = :run")


class _OverdueRun(NamedTuple):
    public_id: str
    name: str
    state: str


class RunTimeouts:
    def __init__(self, *, store: Store, clock: Clock, run_timeout: int) -> None:
        self._store, self._clock, self._run_timeout = store, clock, run_timeout
        self._longest_wait = max(LONGEST_WAIT, run_timeout)

    async def step(self) -> float:
        """A periodic step: cancels overdue runs, each in its own transaction. Any number of
        processes may do so."""
        runs = await self._store.read(self._overdue)
        try:
            for run in runs:
                with suppress(NotFound, WrongState):  # the run has just ended
                    if await self._store.write(lambda c: self._end(c, run.public_id)):  # noqa: B023
                        log_run("run_timed_out", run.name, run.public_id, JobState.CANCELLED)
        except TimeShifted:
            return 0.2  # by the shifted clock the runs may have time left
        return 0.0 if len(runs) == BATCH else POLL_SECONDS

    def _overdue(self, connection: Connection) -> list[_OverdueRun]:
        rows = _SOME(connection, most=BATCH, **self._limits())
        return [_OverdueRun._make(row) for row in rows]

    def _limits(self) -> dict[str, int]:
        now = self._clock.now()
        return {"began": now - self._run_timeout, "queued": now - self._longest_wait}

    def _end(self, connection: Connection, run: str) -> bool:
        """Cancels the run if it is still overdue: it may have been retried or resumed since."""
        require_same_time(connection, self._clock.version)
        row = _THIS(connection, run=run, **self._limits()).one_or_none()
        if row is None:
            return False
        cancel(connection, run, now=self._clock.now(), reason=self._reason(row.state))
        return True

    def _reason(self, state: str) -> str:
        if state == JobState.RUNNING:
            return (
                f"The run was cancelled after {self._run_timeout / SECOND:g} seconds beside the "
                "pauses between its pages, the longest that a run may take; its fetched pages are "
                "kept. Raise RUN_TIMEOUT or request fewer results."
            )
        return (
            f"The run was cancelled: it could not start within {self._longest_wait / HOUR:g} "
            "hours. While the next run waits, its `why` says what it waits for."
        )
