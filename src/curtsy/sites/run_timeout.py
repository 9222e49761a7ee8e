"""Cancels runs of sites that take too long, so that the next run can start; fetched pages stay.

The time of a run counts from its start, or from its last resume or retry: a queued run has not
started, and another run would wait as long. What the site's policy demands does not count: each
page that has ended adds its pause to the time that the run may take, as the hourly limit spreads
them too, and closed hours add theirs. So do requests of other jobs to the same source, which take
turns with it. Rests count, so that they do not hold the site. Paused runs are never cancelled.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import orjson

from curtsy.clock import DAY, HOUR, SECOND, Clock
from curtsy.errors import NotFound, WrongState
from curtsy.events.run_log import log_run
from curtsy.frontier.fence import TimeShifted, require_same_time
from curtsy.history.reader import of_sources
from curtsy.jobs import cancel
from curtsy.model.job_states import JobState
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Lookup, Statement, Store

BATCH = 100
POLL_SECONDS = 5.0
LONGEST_WAIT = DAY
"""From submission to start; longer if a run may take longer."""

_BEGAN = """
    (SELECT max(e.at) FROM events e WHERE e.job_id = j.id
     AND e.name IN ('job_queued', 'job_started', 'job_retried', 'job_resumed'))
"""
_LATE = f"""
    SELECT j.id, j.public_id, j.name, j.state, j.site_id, j.done + j.failed - j.cached AS ended,
           {_BEGAN} AS began
    FROM jobs j
    WHERE j.site_id IS NOT NULL AND j.finished_at IS NULL AND j.paused_at IS NULL
      AND j.created_at <= :began
      AND {_BEGAN} <= CASE j.state WHEN 'running'
                      THEN CAST(:began AS bigint) ELSE CAST(:queued AS bigint) END
"""  # noqa: S608
_SOME = Statement(
    f"{_LATE} AND (j.site_id, j.id) > (:site_id, :id) ORDER BY j.site_id, j.id LIMIT :most"
)
_THIS = Statement(f"{_LATE} AND j.public_id = :run")
_SOURCES = Lookup(
    """
    SELECT i.job_id, s.id, s.delay_ms, s.policy FROM items i JOIN pages p ON p.id = i.page_id
    JOIN hosts h ON h.host = p.host JOIN sources s ON s.id = h.source_id
    WHERE i.job_id = {each_job_id} AND i.position = 0 LIMIT 1
    """,
    each={"job_id": "bigint"},
)
_REOPENED = Lookup(
    """
    SELECT e.job_id, e.data FROM events e
    WHERE e.job_id = {each_job_id} AND e.name IN ('job_retried', 'job_resumed')
    ORDER BY e.n DESC LIMIT 1
    """,
    each={"job_id": "bigint"},
)


class _Source(NamedTuple):
    id: int
    delay_ms: int
    policy: str
    """JSON."""


class _Run(NamedTuple):
    id: int
    public_id: str
    name: str
    state: str
    site_id: int
    ended: int
    """Pages that were fetched or given up."""
    began: int


_Place = tuple[int, int]
"""Of a run: by site and id."""


def _since_reopened(run: _Run, event: str | None) -> int:
    """How many pages have ended at most since the run was last retried or resumed."""
    return run.ended if event is None else min(run.ended, orjson.loads(event).get("pages", 0))


class RunTimeouts:
    def __init__(self, *, store: Store, clock: Clock, policy: Policy, run_timeout: int) -> None:
        """`policy`: of sources that nobody described."""
        self._store, self._clock = store, clock
        self._policy, self._run_timeout = policy, run_timeout
        self._longest_wait = max(LONGEST_WAIT, run_timeout)

    async def step(self) -> float:
        """A periodic step: cancels overdue runs, each in its own transaction. Any number of
        processes may do so."""
        after: _Place | None = (0, 0)
        while after is not None:
            place = after
            overdue, after = await self._store.read(lambda c: self._some(c, place))  # noqa: B023
            try:
                await self._end_all(overdue)
            except TimeShifted:
                return 0.2  # by the shifted clock the runs may have time left
        return POLL_SECONDS

    async def _end_all(self, overdue: Iterable[_Run]) -> None:
        for run in overdue:
            with suppress(NotFound, WrongState):  # the run has just ended
                if await self._store.write(lambda c: self._end(c, run.public_id)):  # noqa: B023
                    log_run("run_timed_out", run.name, run.public_id, JobState.CANCELLED)

    def _some(self, connection: Connection, after: _Place) -> tuple[list[_Run], _Place | None]:
        """Returns overdue runs, and where to go on; None: at the end."""
        site_id, id_ = after
        rows = _SOME(connection, site_id=site_id, id=id_, most=BATCH, **self._limits())
        late = [_Run._make(row) for row in rows]
        is_last = len(late) < BATCH
        return self._overdue(connection, late), (
            None if is_last else (late[-1].site_id, late[-1].id)
        )

    def _overdue(self, connection: Connection, late: Sequence[_Run]) -> list[_Run]:
        """Those whose time is over also with what the policy demanded."""
        running = [(run.id,) for run in late if run.state == JobState.RUNNING]
        rows = _SOURCES.tuples(connection, running) if running else ()
        sources = {job_id: _Source(*source) for job_id, *source in rows}
        reopened = dict(_REOPENED.tuples(connection, running)) if running else {}

        def is_overdue(run: _Run) -> bool:
            if run.id not in sources:
                return True
            ended = _since_reopened(run, reopened.get(run.id))
            return self._is_overdue(connection, run._replace(ended=ended), sources[run.id])

        return [run for run in late if is_overdue(run)]

    def _is_overdue(self, connection: Connection, run: _Run, source: _Source) -> bool:
        policy = self._policy.with_overrides(orjson.loads(source.policy))
        pause, closed, now = max(source.delay_ms, policy.spread), 0, self._clock.now()
        if policy.hours is not None:
            pause *= policy.hours.slowdown
            closed = policy.hours.closed_between(run.began, now)
        own_time = now - run.began - self._run_timeout - closed
        if own_time < run.ended * pause:
            return False
        of_all = of_sources(connection, [source.id], since=run.began, until=now)
        return own_time >= of_all[source.id].requests * pause

    def _limits(self) -> dict[str, int]:
        now = self._clock.now()
        return {"began": now - self._run_timeout, "queued": now - self._longest_wait}

    def _end(self, connection: Connection, run: str) -> bool:
        """Cancels the run if it is still overdue: it may have been retried or resumed since."""
        require_same_time(connection, self._clock.version)
        late = [_Run._make(row) for row in _THIS(connection, run=run, **self._limits())]
        if not self._overdue(connection, late):
            return False
        cancel(connection, run, now=self._clock.now(), reason=self._reason(late[0].state))
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
