"""Predicted ends of jobs for their status, cached; left out while not known yet.

A prediction takes longer the more pages a job has. So the cache spends at most a fiftieth of the
time on a job's predictions, and a status does not wait for a slow one: a later status has it.
"""

import asyncio

from curtsy.api.backend import Backend
from curtsy.errors import CurtsyError
from curtsy.explain.why import eta
from curtsy.jobs.job import Job
from curtsy.model.job_states import OPEN_STATES

REFRESH_EVERY = 2_000
REST_PER_COST = 50
"""A prediction is cached for at least this many times the span that it took."""
WAIT_SECONDS = 0.1
MOST_JOBS = 10_000
READS_AT_ONCE = 8


class EtaCache:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._cached: dict[int, tuple[int | None, int]] = {}
        """By job: the prediction, and until when it is fresh."""
        self._reads: dict[int, asyncio.Task[None]] = {}

    async def of(self, row: Job) -> int | None:
        """`row`: a row of `jobs`."""
        if row.state not in OPEN_STATES or row.paused_at:
            return None
        cached, until = self._cached.get(row.id, (None, 0))
        if self._backend.clock.monotonic() < until:
            return cached
        read = self._reads.get(row.id)
        if read is None and len(self._reads) < READS_AT_ONCE:
            read = self._reads[row.id] = asyncio.create_task(self._refresh(row.id))
            read.add_done_callback(lambda _task: self._reads.pop(row.id, None))
        if read is not None and cached is None:
            await asyncio.wait([read], timeout=WAIT_SECONDS)
        return self._cached.get(row.id, (None, 0))[0]

    async def _refresh(self, job_id: int) -> None:
        started = self._backend.clock.monotonic()
        now = self._backend.clock.now()
        try:
            predicted = await self._backend.read(
                lambda c: eta(c, job_id, self._backend.policy, now=now)
            )
        except CurtsyError:
            predicted = None
        ended = self._backend.clock.monotonic()
        if len(self._cached) >= MOST_JOBS:
            self._cached.clear()
        fresh_for = max(REFRESH_EVERY, REST_PER_COST * (ended - started))
        self._cached[job_id] = predicted, ended + fresh_for
