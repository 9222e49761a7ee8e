"""Jobs come in. Small ones that arrive together are one transaction; each has its own answer."""

from collections.abc import Callable, Sequence

from curtsy.batcher import Batcher, isolate
from curtsy.clock import Clock
from curtsy.errors import StoreAway
from curtsy.frontier.admit import Wanted
from curtsy.jobs.admission import Answers, Submission, admit_jobs
from curtsy.jobs.backlog import Backlog
from curtsy.jobs.idempotency import Submitted, existing, keys_of
from curtsy.jobs.request import JobRequest, SubmitLimits, check
from curtsy.model.jobs import new_job_id
from curtsy.store import Connection, Store

TOGETHER = 64
"""Jobs in one transaction, and the pages that one of them may have; larger ones go alone."""
TRANSACTIONS_AT_ONCE = 2


class Submitter:
    """Takes jobs in. `on_submitted` is told afterwards, as a hint to whoever waits for work."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        limits: SubmitLimits,
        delay_ms: int,
        on_submitted: Callable[[], None] = lambda: None,
    ) -> None:
        self._store, self._clock, self.limits = store, clock, limits
        self.delay_ms = delay_ms
        self._on_submitted = on_submitted
        self.pending = Backlog(clock)
        self._together = Batcher(self._take_in, most=TOGETHER, at_once=TRANSACTIONS_AT_ONCE)

    def check(self, request: JobRequest, guarded: list[str] | None = None) -> list[Wanted]:
        """The pages that it wants; raises with every problem found."""
        return check(request, self.limits, guarded=guarded)

    async def submit(self, request: JobRequest) -> Submitted:
        wanted = self.check(request)
        await self.pending.count(self._store)
        self.pending.add(request.user_id, len(wanted), self.limits)
        asked = Submission(request, wanted, new_job_id())
        if len(wanted) <= TOGETHER:
            return await self._together.submit(asked)
        (answer,) = await self._take_in([asked])
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _take_in(self, asked: Sequence[Submission]) -> Sequence[Submitted | Exception]:
        first, again = _apart(asked)
        answers: Answers = {}
        for part in await isolate(first, self._acknowledged, _own_error):
            answers |= part
        if again:
            answers |= {
                one.job: answer
                for one, answer in zip(again, await self._take_in(again), strict=True)
            }
        self._on_submitted()
        return [answers[one.job] for one in asked]

    async def _acknowledged(self, asked: Sequence[Submission]) -> Answers:
        """A commit whose answer was lost is asked for again, not repeated."""
        asked_before = False

        def work(connection: Connection) -> Answers:
            nonlocal asked_before
            done = existing(connection, [one.job for one in asked]) if asked_before else {}
            asked_before = True
            rest = [one for one in asked if one.job not in done]
            return done | admit_jobs(connection, rest, self.limits, delay_ms=self.delay_ms,
                                  clock=self._clock)  # fmt: skip

        try:
            return await self._store.write(work, durable=True)
        except StoreAway:
            return await self._store.write(work, durable=True)


async def _own_error(one: Submission, error: Exception) -> Answers:
    return {one.job: error}


def _apart(asked: Sequence[Submission]) -> tuple[list[Submission], list[Submission]]:
    """Those that claim no key that one before them claims, and the others."""
    first: list[Submission] = []
    again: list[Submission] = []
    claimed: set[str] = set()
    for one in asked:
        keys = keys_of(one.request)
        (first if claimed.isdisjoint(keys) else again).append(one)
        claimed.update(keys)
    return first, again
