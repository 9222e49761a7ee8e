"""When jobs may be expected to end, for their status: known from a moment ago, or left out.

To look takes longer the more pages a job has. So it is not done more often than costs a fiftieth
of the time, and a status does not wait for it: the next one will know.
"""

import asyncio

from curtsy.api.backend import Backend
from curtsy.errors import CurtsyError
from curtsy.explain.why import eta
from curtsy.jobs.job import Job
from curtsy.model.jobs import OPEN_STATES

LOOK_EVERY = 2_000
COSTS_AT_MOST = 50
WAITED_SECONDS = 0.1
MOST_KEPT = 10_000
LOOKING_AT_ONCE = 8


class EtaCache:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._known: dict[int, tuple[int | None, int]] = {}
        """By job: what was said, and until when it will do."""
        self._looking: dict[int, asyncio.Task[None]] = {}

    async def of(self, row: Job) -> int | None:
        if row.state not in OPEN_STATES or row.paused_at:
            return None
        said, until = self._known.get(row.id, (None, 0))
        if self._backend.clock.monotonic() < until:
            return said
        looking = self._looking.get(row.id)
        if looking is None and len(self._looking) < LOOKING_AT_ONCE:
            looking = self._looking[row.id] = asyncio.create_task(self._look(row.id))
            looking.add_done_callback(lambda _task: self._looking.pop(row.id, None))
        if looking is not None and said is None:
            await asyncio.wait([looking], timeout=WAITED_SECONDS)
        return self._known.get(row.id, (None, 0))[0]

    async def _look(self, job_id: int) -> None:
        began = self._backend.clock.monotonic()
        now = self._backend.clock.now()
        try:
            said = await self._backend.read(lambda c: eta(c, job_id, self._backend.policy, now=now))
        except CurtsyError:
            said = None
        ended = self._backend.clock.monotonic()
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        self._known[job_id] = said, ended + max(LOOK_EVERY, COSTS_AT_MOST * (ended - began))
