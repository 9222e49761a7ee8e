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

_Round = tuple[int, int]
"""A job's id and its round: a job that is retried begins another."""


class EtaCache:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._cached: dict[_Round, tuple[int | None, int]] = {}
        """By job and round: the prediction, and until when it is fresh."""
        self._reads: dict[_Round, asyncio.Task[None]] = {}

    async def of(self, row: Job) -> int | None:
        """`row`: a row of `jobs`. The prediction is never before now: a fresh one that has just
        passed is now, and an old one that has passed is not used."""
        if row.state not in OPEN_STATES or row.paused_at:
            return None
        wanted, now = (row.id, row.round), self._backend.clock.now()
        known, fresh = self._known(wanted)
        if not fresh:
            read = self._read(wanted)
            if read is not None and (known is None or known < now):
                await asyncio.wait([read], timeout=WAIT_SECONDS)
            known, fresh = self._known(wanted)
        if known is None or known >= now:
            return known
        return now if fresh else None

    def _known(self, wanted: _Round) -> tuple[int | None, bool]:
        """The cached prediction, and whether it is fresh."""
        predicted, until = self._cached.get(wanted, (None, 0))
        return predicted, self._backend.clock.monotonic() < until

    def _read(self, wanted: _Round) -> asyncio.Task[None] | None:
        """The task that reads a new prediction; None: too many are read at once."""
        read = self._reads.get(wanted)
        if read is None and len(self._reads) < READS_AT_ONCE:
            read = self._reads[wanted] = asyncio.create_task(self._refresh(wanted))
            read.add_done_callback(lambda _task: self._reads.pop(wanted, None))
        return read

    async def _refresh(self, wanted: _Round) -> None:
        started = self._backend.clock.monotonic()
        now = self._backend.clock.now()
        try:
            predicted = await self._backend.read(
                lambda c: eta(c, wanted[0], self._backend.policy, now=now)
            )
        except CurtsyError:
            predicted = None
        ended = self._backend.clock.monotonic()
        if len(self._cached) >= MOST_JOBS:
            self._cached.clear()
        fresh_for = max(REFRESH_EVERY, REST_PER_COST * (ended - started))
        self._cached[wanted] = predicted, ended + fresh_for
