"""Submits jobs. Small jobs that arrive together share a transaction; each has its own answer."""

from collections.abc import Callable, Sequence

from curtsy.batcher import Batcher, isolate
from curtsy.clock import Clock
from curtsy.errors import StoreAway
from curtsy.frontier.admit import Wanted
from curtsy.jobs.admission import Answers, Submission, admit_jobs
from curtsy.jobs.backlog import Backlog
from curtsy.jobs.idempotency import Submitted, existing, keys_of
from curtsy.jobs.job_request import JobRequest, SubmitLimits, check
from curtsy.model.job_states import new_job_id
from curtsy.offload import MANY_PAGES, offload_many
from curtsy.store import Connection, Store

TOGETHER = 64
"""Jobs in one transaction, and the most pages of each; a larger job has its own transaction."""
TRANSACTIONS_AT_ONCE = 2


class Submitter:
    """Submits jobs. Calls `on_submitted` after each transaction, as a hint that there is work."""

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
        self._together = Batcher(self._admit, most=TOGETHER, at_once=TRANSACTIONS_AT_ONCE)

    async def check(self, request: JobRequest, guarded: list[str] | None = None) -> list[Wanted]:
        """Returns the pages of the request; raises with every problem found."""
        pages = len(request.pages)
        return await offload_many(pages, check, request, self.limits, guarded=guarded)

    async def submit(self, request: JobRequest) -> Submitted:
        wanted = await self.check(request)
        await self._store.require_room()
        await self.pending.count(self._store)
        self.pending.add(request.user_id, len(wanted), self.limits)
        submission = Submission(request, wanted, new_job_id())
        if len(wanted) <= TOGETHER:
            return await self._together.submit(submission)
        (answer,) = await self._admit([submission])
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _admit(self, submissions: Sequence[Submission]) -> Sequence[Submitted | Exception]:
        first, later = _split_by_key(submissions)
        answers: Answers = {}
        for part in await isolate(first, self._admit_durably, _own_error):
            answers |= part
        if later:
            answers |= {
                submission.job: answer
                for submission, answer in zip(later, await self._admit(later), strict=True)
            }
        self._on_submitted()
        return [answers[submission.job] for submission in submissions]

    async def _admit_durably(self, submissions: Sequence[Submission]) -> Answers:
        """Tries twice. After a commit whose answer was lost, the second try reads the jobs that
        exist instead of admitting them again."""
        is_retry = False
        large = sum(len(submission.wanted) for submission in submissions) > MANY_PAGES

        def work(connection: Connection) -> Answers:
            nonlocal is_retry
            done = existing(connection, [s.job for s in submissions]) if is_retry else {}
            is_retry = True
            rest = [submission for submission in submissions if submission.job not in done]
            return done | admit_jobs(connection, rest, self.limits, delay_ms=self.delay_ms,
                                  clock=self._clock)  # fmt: skip

        try:
            return await self._store.write(work, durable=True, large=large)
        except StoreAway:
            return await self._store.write(work, durable=True, large=large)


async def _own_error(submission: Submission, error: Exception) -> Answers:
    return {submission.job: error}


def _split_by_key(
    submissions: Sequence[Submission],
) -> tuple[list[Submission], list[Submission]]:
    """Separates the submissions that claim no key of an earlier one from the others."""
    first: list[Submission] = []
    later: list[Submission] = []
    claimed: set[str] = set()
    for submission in submissions:
        keys = keys_of(submission.request)
        (first if claimed.isdisjoint(keys) else later).append(submission)
        claimed.update(keys)
    return first, later
