"""Webhook deliveries: one for each end of a job with a webhook URL, retried until accepted.

The transaction that ends the job inserts the row. A sender claims some rows for a while; when the
sender dies, another one claims them later. A receiver may therefore get an end twice, but never
misses one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from curtsy.clock import rfc3339
from curtsy.errors import NotFound, WrongState
from curtsy.events.delivery_attempts import CLAIM_FOR, after_attempt
from curtsy.events.webhook_secrets import signing_secrets
from curtsy.store import Connection, Lookup, Statement

MOST_WITH_REPLAYS = 100
"""Attempts of one delivery, replays included: nobody floods a receiver by replays."""

_DUE = Statement(
    """
    SELECT id, {receiver} AS receiver FROM webhook_deliveries
    WHERE state = 'waiting' AND next_at <= :now
      AND {receiver} NOT IN (SELECT receiver FROM {busy})
    ORDER BY next_at LIMIT :most {lock_skip}
    """,
    busy={"receiver": "text"},
)
_IS_ANY_DUE = Statement(
    """
    SELECT 1 FROM webhook_deliveries WHERE state = 'waiting' AND next_at <= :now LIMIT 1
    """
)
_BEGIN = Statement(
    """
    UPDATE webhook_deliveries SET next_at = :until, attempts = attempts + 1
    WHERE id IN (SELECT id FROM {due}) RETURNING id
    """,
    due={"id": "bigint"},
)
_BEGUN = Statement(
    """
    SELECT d.id, d.url, {receiver} AS receiver, d.round, d.attempts, d.job_id, j.public_id, j.door,
           j.user_id
    FROM {due}
    JOIN webhook_deliveries d ON d.id = due.id JOIN jobs j ON j.id = d.job_id
    """,
    due={"id": "bigint"},
)
# Each end has one delivery. As many last ends as there are deliveries from this round on therefore
# include the end of this round.
_ENDS = Lookup(
    """
    SELECT e.job_id, e.at, e.n, e.data FROM events e
    WHERE e.job_id = {each_job_id} AND e.name = 'job_finished' ORDER BY e.n DESC
    LIMIT (SELECT count(*) FROM webhook_deliveries d
           WHERE d.job_id = {each_job_id} AND d.round >= {each_round})
    """,
    each={"job_id": "bigint", "round": "int"},
)
_RECORD = Statement(
    """
    UPDATE webhook_deliveries SET state = :state, status = :status, error = :error,
        next_at = :next_at, ended_at = :ended_at
    WHERE id = :id
    """
)
_OF_JOB = Statement(
    """
    SELECT d.id, d.round, d.url, d.state, d.attempts, d.next_at, d.status, d.error, d.created_at,
           d.ended_at
    FROM webhook_deliveries d JOIN jobs j ON j.id = d.job_id
    WHERE j.public_id = :job ORDER BY d.id
    """
)
_REPLAY = Statement(
    """
    UPDATE webhook_deliveries SET state = 'waiting', next_at = :now, error = NULL,
        status = NULL, ended_at = NULL
    WHERE id = :id AND state <> 'waiting' AND attempts < :most
      AND job_id = (SELECT id FROM jobs WHERE public_id = :job)
    """
)
_INSERT = Statement(
    """
    INSERT INTO webhook_deliveries (job_id, round, url, next_at, created_at)
    SELECT job_id, round, url, :now, :now FROM {ended} WHERE true
    ON CONFLICT (job_id, round) DO NOTHING
    """,
    ended={"job_id": "bigint", "round": "int", "url": "text"},
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery that is due, claimed by this sender."""

    id: int
    url: str
    receiver: str
    """The host and port of the URL."""
    attempt: int
    body: bytes
    secrets: tuple[str, ...] = field(repr=False)
    """Those of the job's user that sign the body."""


class StoredDelivery(NamedTuple):
    """A row of `webhook_deliveries`."""

    id: int
    round: int
    url: str
    state: str
    """waiting, delivered or failed"""
    attempts: int
    next_at: int | None
    status: int | None
    error: str | None
    created_at: int
    ended_at: int | None


def insert_deliveries(
    connection: Connection, ended: Sequence[tuple[int, int, str]], *, now: int
) -> None:
    """Inserts a delivery for each end of a job (job id, round, webhook URL)."""
    if ended:
        _INSERT(connection, ended=ended, now=now)


def is_any_due(connection: Connection, *, now: int) -> bool:
    return _IS_ANY_DUE(connection, now=now).scalar() is not None


def begin_deliveries(
    connection: Connection, *, most: int, each: int, under_way: Mapping[str, int], now: int
) -> list[Delivery]:
    """Claims up to `most` due deliveries for `CLAIM_FOR`. Each receiver has at most `each` at a
    time, including those under way."""
    begun: list[tuple[int]] = []
    of_receiver = Counter(under_way)
    while len(begun) < most:
        busy = [(receiver,) for receiver, open_ in of_receiver.items() if open_ >= each]
        due = list(_DUE(connection, most=most - len(begun), busy=busy, now=now))
        fitting = [row for row in due if _add_if_room(of_receiver, row.receiver, each)]
        _BEGIN(connection, due=[(row.id,) for row in fitting], until=now + CLAIM_FOR)
        begun += [(row.id,) for row in fitting]
        if len(fitting) == len(due):
            break
    rows = list(_BEGUN(connection, due=begun))
    ends = _ends(connection, [(row.job_id, row.round) for row in rows])
    secrets = signing_secrets(connection, {row.user_id for row in rows}, now=now) if rows else {}
    return [
        Delivery(row.id, row.url, row.receiver, row.attempts,
                 _body(row.id, row.public_id, row.door, ends[row.job_id, row.round]),
                 secrets[row.user_id].all)
        for row in rows
        if (row.job_id, row.round) in ends
    ]  # fmt: skip


def record_delivery(
    connection: Connection, delivery: Delivery, *, status: int | None, error: str | None, now: int
) -> None:
    """`error` is why the receiver did not accept the delivery, in a sentence; None: accepted."""
    after = after_attempt(delivery.attempt, status, error, now)
    _RECORD(connection, id=delivery.id, status=status, error=error, **after._asdict())


def deliveries_of(connection: Connection, job: str) -> list[StoredDelivery]:
    """The deliveries of a job, oldest first."""
    return [StoredDelivery._make(row) for row in _OF_JOB(connection, job=job)]


def replay_delivery(connection: Connection, job: str, delivery: int, *, now: int) -> None:
    """Restarts a delivery that has ended. Its attempts count on: it gets those that are left of
    `MOST_ATTEMPTS`, at least one."""
    if _REPLAY(connection, job=job, id=delivery, most=MOST_WITH_REPLAYS, now=now).rowcount:
        return
    known = [row for row in deliveries_of(connection, job) if row.id == delivery]
    if not known:
        raise NotFound("delivery", str(delivery))
    state = known[0].state
    if state != "waiting":
        state = f"{state} after {known[0].attempts} attempts, as many as a delivery may have"
    raise WrongState(f"Delivery {delivery}", state, "replayed")


def _add_if_room(of_receiver: Counter[str], receiver: str, each: int) -> bool:
    of_receiver[receiver] += 1
    return of_receiver[receiver] <= each


class _End(NamedTuple):
    """A `job_finished` event."""

    at: int
    n: int
    data: dict[str, Any]


def _ends(connection: Connection, wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], _End]:
    """The ends of jobs by job id and round, found from the job's last event backwards."""
    found = ((row.job_id, _End(row.at, row.n, orjson.loads(row.data)))
             for row in _ENDS(connection, wanted))  # fmt: skip
    return {(job_id, end.data["round"]): end for job_id, end in found}


def _body(delivery: int, job: str, door: str, end: _End) -> bytes:
    state, done, failed, cancelled, total = end.data["job"]
    return orjson.dumps({
        "type": "job_finished", "delivery": delivery, "job_id": job, "door": door, "state": state,
        "total": total, "completed": done, "failed": failed, "cancelled": cancelled,
        "round": end.data["round"], "seq": end.n, "finished_at": rfc3339(end.at),
    })  # fmt: skip
