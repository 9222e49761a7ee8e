"""Deliveries of webhooks: one for each end of a job that asked for it, until it is taken.

The row is written by the transaction that ends the job. Whoever delivers takes some rows for a
while; one that dies at it leaves them to another, so that a receiver may hear of an end twice,
never not at all.
"""

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from curtsy.clock import HOUR, SECOND, rfc3339
from curtsy.errors import NotFound, WrongState
from curtsy.store import Connection, Lookup, Statement

HOLD = 60 * SECOND
"""For so long a delivery that was begun is left to whoever began it."""
FIRST_WAIT, LONGEST_WAIT = 10 * SECOND, HOUR
MOST_ATTEMPTS = 20
"""With waits that double up to an hour, about twelve hours."""

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
    SELECT d.id, d.url, {receiver} AS receiver, d.round, d.attempts, d.job_id, j.public_id, j.door
    FROM {due}
    JOIN webhook_deliveries d ON d.id = due.id JOIN jobs j ON j.id = d.job_id
    """,
    due={"id": "bigint"},
)
# Each end has its delivery, so that as many ends as there are deliveries since this one reach it.
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
_LOG = Statement(
    """
    SELECT d.* FROM webhook_deliveries d JOIN jobs j ON j.id = d.job_id
    WHERE j.public_id = :job ORDER BY d.id
    """
)
_REPLAY = Statement(
    """
    UPDATE webhook_deliveries SET state = 'waiting', attempts = 0, next_at = :now, error = NULL,
        status = NULL, ended_at = NULL
    WHERE id = :id AND state <> 'waiting'
      AND job_id = (SELECT id FROM jobs WHERE public_id = :job)
    """
)
_SECRET = Statement("SELECT value FROM secrets WHERE name = 'webhooks'")
_MAKE_SECRET = Statement(
    """
    INSERT INTO secrets (name, value, created_at) VALUES ('webhooks', :value, :now)
    ON CONFLICT (name) DO NOTHING
    """
)


@dataclass(frozen=True, slots=True)
class Delivery:
    id: int
    url: str
    receiver: str
    """The host and port that the URL names."""
    attempt: int
    body: bytes


def is_any_due(connection: Connection, *, now: int) -> bool:
    return _IS_ANY_DUE(connection, now=now).scalar() is not None


def begin_deliveries(
    connection: Connection, *, most: int, each: int, under_way: Mapping[str, int], now: int
) -> list[Delivery]:
    """Some that are due; they are this caller's for a while. Of one receiver there are at most
    `each`, with those that are under way."""
    begun: list[tuple[int]] = []
    of_receiver = Counter(under_way)
    while len(begun) < most:
        busy = [(receiver,) for receiver, open_ in of_receiver.items() if open_ >= each]
        due = list(_DUE(connection, most=most - len(begun), busy=busy, now=now))
        fitting = [row for row in due if _has_room(of_receiver, row.receiver, each)]
        _BEGIN(connection, due=[(row.id,) for row in fitting], until=now + HOLD)
        begun += [(row.id,) for row in fitting]
        if len(fitting) == len(due):
            break
    rows = list(_BEGUN(connection, due=begun))
    ends = _ends(connection, [(row.job_id, row.round) for row in rows])
    return [
        Delivery(row.id, row.url, row.receiver, row.attempts,
                 _body(row, ends[row.job_id, row.round]))
        for row in rows
        if (row.job_id, row.round) in ends
    ]  # fmt: skip


def _has_room(of_receiver: Counter[str], receiver: str, each: int) -> bool:
    """It takes the room, too."""
    of_receiver[receiver] += 1
    return of_receiver[receiver] <= each


def _ends(connection: Connection, wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Any]:
    """By job and round; found from the job's last event backwards."""
    rows = _ENDS(connection, wanted)
    return {(row.job_id, orjson.loads(row.data)["round"]): row for row in rows}


def _body(row: Any, end: Any) -> bytes:
    state, done, failed, cancelled, total = orjson.loads(end.data)["job"]
    return orjson.dumps({
        "type": "job_finished", "delivery": row.id, "job_id": row.public_id, "door": row.door,
        "state": state, "total": total, "completed": done, "failed": failed,
        "cancelled": cancelled, "round": row.round, "seq": end.n, "finished_at": rfc3339(end.at),
    })  # fmt: skip


def record_delivery(
    connection: Connection, delivery: Delivery, *, status: int | None, error: str | None, now: int
) -> None:
    """`error`: why it was not taken, in a sentence; None: it was."""
    if error is None:
        state, next_at = "delivered", None
    elif status == 410 or delivery.attempt >= MOST_ATTEMPTS:
        state, next_at = "failed", None
    else:
        wait = min(FIRST_WAIT * 2 ** (delivery.attempt - 1), LONGEST_WAIT)
        state, next_at = "waiting", now + wait
    _RECORD(connection, id=delivery.id, state=state, status=status, error=error, next_at=next_at,
            ended_at=None if next_at else now)  # fmt: skip


def deliveries_of(connection: Connection, job: str) -> Sequence[Any]:
    return list(_LOG(connection, job=job))


def replay_delivery(connection: Connection, job: str, delivery: int, *, now: int) -> None:
    """Once more from the beginning, for one that has ended."""
    if _REPLAY(connection, job=job, id=delivery, now=now).rowcount:
        return
    known = [row for row in deliveries_of(connection, job) if row.id == delivery]
    if not known:
        raise NotFound("delivery", str(delivery))
    raise WrongState(f"Delivery {delivery}", known[0].state, "replayed")


def signing_secret(connection: Connection, *, now: int) -> str:
    """Of this installation; made when it is first needed."""
    found = _SECRET(connection).scalar()
    if found is None:
        _MAKE_SECRET(connection, value=f"whsec_{secrets.token_hex(32)}", now=now)
        found = _SECRET(connection).scalar_one()
    return str(found)


def signature(secret: str, body: bytes, *, now: int) -> str:
    """`t` is the second at which it was signed, `v1` the HMAC-SHA256 of `t`, a dot and the body."""
    at = now // SECOND
    signed = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={signed}"


_ANNOUNCE = Statement(
    """
    INSERT INTO webhook_deliveries (job_id, round, url, next_at, created_at)
    SELECT job_id, round, url, :now, :now FROM {ended} WHERE true
    ON CONFLICT (job_id, round) DO NOTHING
    """,
    ended={"job_id": "bigint", "round": "int", "url": "text"},
)


def announce(connection: Connection, ended: Sequence[tuple[int, int, str]], *, now: int) -> None:
    """Ends of jobs, by round, that somebody wants to be told of at a URL."""
    if ended:
        _ANNOUNCE(connection, ended=ended, now=now)
