"""A job comes in: one transaction writes the job, its items and the visits they need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from curtsy.clock import Clock
from curtsy.errors import BadRequest, OverLimit, StoreAway
from curtsy.frontier.admit import Terms, Wanted, admit
from curtsy.frontier.counting import record_events
from curtsy.frontier.sources import known_hosts
from curtsy.model.jobs import JobState, new_job_id
from curtsy.store import Connection, Statement, Store
from curtsy.submit.pending import Pending
from curtsy.submit.request import JobRequest, SubmitLimits, check

LONGEST_SUBMIT = 45_000
"""Lanes count on it that what a submit brings is visible so soon after it began (milliseconds)."""


@dataclass(frozen=True, slots=True)
class Submitted:
    job: str
    total: int
    cached: int
    repeated: bool = False
    """The same request was made before; this is its job."""

    @property
    def new(self) -> int:
        return self.total - self.cached


_CLAIM_KEY = Statement(
    """
    INSERT INTO submissions (key, job, request_hash, expires_at)
    VALUES (:key, :job, :request_hash, :expires_at)
    ON CONFLICT (key) DO UPDATE SET job = excluded.job, request_hash = excluded.request_hash,
        expires_at = excluded.expires_at
    WHERE submissions.expires_at <= :now
    RETURNING job
    """
)
_WINNER = Statement(
    """
    SELECT s.request_hash, j.public_id, j.total, j.cached
    FROM submissions s JOIN jobs j ON j.public_id = s.job WHERE s.key = :key
    """
)
_EXISTING = Statement("SELECT public_id, total, cached FROM jobs WHERE public_id = :job")
_INSERT_JOB = Statement(
    """
    INSERT INTO jobs (public_id, door, user_id, name, scraper, params, state, total, last_event,
                      created_at, updated_at)
    VALUES (:public_id, :door, :user_id, :name, :scraper, :params, :state, :total, 1, :now, :now)
    RETURNING id
    """
)
_INSERT_TAGS = Statement(
    "INSERT INTO job_tags (tag, job_id) SELECT tag, :job_id FROM {made} WHERE true",
    made={"tag": "text"},
)
_FINISH_CACHED = Statement(
    """
    UPDATE jobs SET done = :cached, cached = :cached, state = :state, last_event = :last_event,
        started_at = :finished_at, finished_at = :finished_at WHERE id = :id
    """
)


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
        self._store, self._clock, self._limits = store, clock, limits
        self._delay_ms = delay_ms
        self._on_submitted = on_submitted
        self._pending = Pending(store, clock)

    async def submit(self, request: JobRequest) -> Submitted:
        """The acknowledged job. A commit whose answer was lost is asked for again, not repeated."""
        wanted = check(request, self._limits)
        await self._pending.check(request.user_id, len(wanted), self._limits)
        public_id = new_job_id()
        asked_before = False

        def work(connection: Connection) -> Submitted:
            nonlocal asked_before
            row = _EXISTING(connection, job=public_id).one_or_none() if asked_before else None
            asked_before = True
            if row is not None:
                return Submitted(row.public_id, row.total, row.cached)
            return self._in_transaction(connection, request, wanted, public_id)

        try:
            submitted = await self._store.write(work, durable=True)
        except StoreAway:
            submitted = await self._store.write(work, durable=True)
        self._on_submitted()
        return submitted

    def _in_transaction(
        self, connection: Connection, request: JobRequest, wanted: Sequence[Wanted], public_id: str
    ) -> Submitted:
        now = self._clock.now()
        if winner := self._winner(connection, request, public_id, now):
            return winner
        self._limit_new_sources(connection, wanted)
        job_id = _insert_job(connection, request, public_id, len(wanted), now)
        _tag(connection, job_id, request.tags)
        terms = Terms(request.max_age, self._delay_ms, now)
        cached = admit(connection, job_id, wanted, terms)
        _begin(connection, job_id, len(wanted), cached, now)
        if self._clock.now() - now > LONGEST_SUBMIT:
            raise StoreAway("the submit took too long; nothing was kept")
        return Submitted(public_id, len(wanted), cached)

    def _winner(
        self, connection: Connection, request: JobRequest, public_id: str, now: int
    ) -> Submitted | None:
        """The job that already has this key; None: the key, if there is one, is now ours."""
        if request.idempotency_key is None:
            return None
        key = f"{request.user_id or ''}:{request.idempotency_key}"
        claimed = _CLAIM_KEY(connection, key=key, job=public_id, request_hash=request.request_hash,
                             expires_at=now + self._limits.key_lifetime, now=now)  # fmt: skip
        if claimed.scalar() is not None:
            return None
        winner = _WINNER(connection, key=key).one_or_none()
        if winner is None:
            return None
        if winner.request_hash != request.request_hash:
            raise BadRequest(
                [f"Idempotency-Key {request.idempotency_key!r} was used for another request."]
            )
        return Submitted(winner.public_id, winner.total, winner.cached, repeated=True)

    def _limit_new_sources(self, connection: Connection, wanted: Sequence[Wanted]) -> None:
        hosts = {page.host for page in wanted}
        if len(hosts) <= self._limits.new_sources:
            return
        new = len(hosts) - len(known_hosts(connection, hosts))
        if new > self._limits.new_sources:
            raise OverLimit(
                f"The job names {new} hosts never seen before; "
                f"at most {self._limits.new_sources} may be in one job."
            )


def _insert_job(
    connection: Connection, request: JobRequest, public_id: str, total: int, now: int
) -> int:
    job_id: int = _INSERT_JOB(
        connection, public_id=public_id, door=request.door, user_id=request.user_id,
        name=request.name, scraper=request.scraper, params=request.params,
        state=JobState.QUEUED, total=total, now=now,
    ).scalar_one()  # fmt: skip
    return job_id


def _tag(connection: Connection, job_id: int, tags: Sequence[str]) -> None:
    if tags:
        _INSERT_TAGS(connection, made=[(tag,) for tag in tags], job_id=job_id)


def _begin(connection: Connection, job_id: int, total: int, cached: int, now: int) -> None:
    """The job's first event, and its last when everything it wants is there already."""
    made = [(job_id, 1, "job_queued", None, _json({"total": total, "cached": cached}))]
    finished = cached == total
    state = JobState.SUCCEEDED if finished else JobState.QUEUED
    if finished:
        end = {"state": state, "done": total, "failed": 0, "cancelled": 0, "total": total,
               "round": 1}  # fmt: skip
        made.append((job_id, 2, "job_finished", None, _json(end)))
    if cached:
        _FINISH_CACHED(connection, id=job_id, cached=cached, state=state, last_event=len(made),
                       finished_at=now if finished else None)  # fmt: skip
    record_events(connection, made, now=now)


def _json(facts: dict[str, object]) -> str:
    return orjson.dumps(facts).decode()
