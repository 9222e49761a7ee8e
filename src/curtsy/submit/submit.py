"""A job comes in: one transaction writes the job, its items and the visits they need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from curtsy.clock import Clock
from curtsy.errors import BadRequest, OverLimit, StoreAway
from curtsy.frontier.admit import Admitted, Wanted, admit
from curtsy.frontier.counting import record_events
from curtsy.frontier.sources import known_hosts
from curtsy.model.jobs import ItemState, JobState, new_job_id
from curtsy.store import Connection, Statement, Store
from curtsy.submit.pending import Pending
from curtsy.submit.request import JobRequest, SubmitLimits, check

ITEM_CHUNK = 10_000
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
    INSERT INTO jobs (public_id, door, user_id, name, scraper, params, state, total, done, cached,
                      last_event, created_at, started_at, finished_at, updated_at)
    VALUES (:public_id, :door, :user_id, :name, :scraper, :params, :state, :total, :cached,
            :cached, :last_event, :now, :started_at, :finished_at, :now)
    RETURNING id
    """
)
_INSERT_ITEMS = Statement(
    """
    INSERT INTO items (job_id, position, page_id, state, url, source_label, category, priority,
                       cached, document_version, fetched_at, ended_at)
    SELECT :job_id, position, page_id, state, url, source_label, category, priority,
           cached, document_version, fetched_at, ended_at FROM {made} WHERE true
    """,
    made={"position": "int", "page_id": "bigint", "state": "smallint", "url": "text",
          "source_label": "text", "category": "text", "priority": "smallint", "cached": "bool",
          "document_version": "int", "fetched_at": "bigint", "ended_at": "bigint"},
)  # fmt: skip


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

        def work(connection: Connection) -> Submitted:
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
        if row := _EXISTING(connection, job=public_id).one_or_none():
            return Submitted(row.public_id, row.total, row.cached)
        if winner := self._winner(connection, request, public_id, now):
            return winner
        self._limit_new_sources(connection, wanted)
        admitted = admit(connection, wanted, max_age=request.max_age, delay_ms=self._delay_ms,
                         now=now)  # fmt: skip
        cached = sum(a.fresh for a in admitted)
        job_id = _insert_job(connection, request, public_id, len(wanted), cached, now)
        _insert_items(connection, job_id, request, wanted, admitted, now)
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
    connection: Connection, request: JobRequest, public_id: str, total: int, cached: int, now: int
) -> int:
    finished = cached == total
    state = JobState.SUCCEEDED if finished else JobState.QUEUED
    job_id: int = _INSERT_JOB(
        connection, public_id=public_id, door=request.door, user_id=request.user_id,
        name=request.name, scraper=request.scraper, params=request.params, state=state,
        total=total, cached=cached, last_event=2 if finished else 1,
        started_at=now if finished else None, finished_at=now if finished else None, now=now,
    ).scalar_one()  # fmt: skip
    facts = {"total": total, "cached": cached}
    made = [(job_id, 1, "job_queued", None, orjson.dumps(facts).decode())]
    if finished:
        end = {"state": state, "done": total, "failed": 0, "cancelled": 0, "total": total,
               "round": 1}  # fmt: skip
        made.append((job_id, 2, "job_finished", None, orjson.dumps(end).decode()))
    record_events(connection, made, now=now)
    return job_id


def _insert_items(
    connection: Connection,
    job_id: int,
    request: JobRequest,
    wanted: Sequence[Wanted],
    admitted: Sequence[Admitted],
    now: int,
) -> None:
    def row(position: int) -> tuple[Any, ...]:
        page, want, got = request.pages[position], wanted[position], admitted[position]
        given = page.url if page.url != want.url else None
        end = (got.document_version, got.fetched_at, now) if got.fresh else (None, None, None)
        state = ItemState.DONE if got.fresh else ItemState.WAITING
        return (position, got.page_id, int(state), given, page.source_label, page.category,
                page.priority, got.fresh, *end)  # fmt: skip

    for start in range(0, len(wanted), ITEM_CHUNK):
        positions = range(start, min(start + ITEM_CHUNK, len(wanted)))
        _INSERT_ITEMS(connection, job_id=job_id, made=[row(i) for i in positions])
