"""The outbox: one delivery for each change and channel, retried until accepted or given up.

The transaction that changes an alert inserts its deliveries, so that a change and its messages are
stored together, once. A sender claims deliveries for a while; if it dies, another one claims them
later. A receiver may therefore get a message twice after a kill: both have the same id.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from curtsy.alerts.channel import Channel
from curtsy.alerts.evaluation import Announcement
from curtsy.alerts.message import Message
from curtsy.alerts.stored_changes import changes_by_seq
from curtsy.alerts.stored_channels import channel_named, stored_channels
from curtsy.errors import WrongState
from curtsy.events.delivery_attempts import CLAIM_FOR, after_attempt
from curtsy.store import Connection, Lookup, Statement

MOST_TESTS_WAITING = 20

_INCIDENT = {"rule": "text", "subject": "text", "incident": "bigint"}
_INSERT = Statement(
    """
    INSERT INTO alert_deliveries (change_seq, channel, next_at, created_at)
    SELECT c.seq, wanted.channel, :now, :now FROM {wanted}
    JOIN alert_changes c ON c.rule = wanted.rule AND c.subject = wanted.subject
        AND c.incident = wanted.incident AND c.phase = 'firing'
    WHERE true ON CONFLICT (change_seq, channel) DO NOTHING
    """,
    wanted={**_INCIDENT, "channel": "text"},
)
_INSERT_ENDS = Statement(
    """
    INSERT INTO alert_deliveries (change_seq, channel, next_at, created_at)
    SELECT r.seq, d.channel, :now, :now FROM {ended}
    JOIN alert_changes f ON f.rule = ended.rule AND f.subject = ended.subject
        AND f.incident = ended.incident AND f.phase = 'firing'
    JOIN alert_changes r ON r.rule = ended.rule AND r.subject = ended.subject
        AND r.incident = ended.incident AND r.phase = 'resolved'
    JOIN alert_deliveries d ON d.change_seq = f.seq
    JOIN alert_channels c ON c.name = d.channel
    WHERE true ON CONFLICT (change_seq, channel) DO NOTHING
    """,
    ended=_INCIDENT,
)
_PRUNE = Statement(
    """
    DELETE FROM alert_deliveries WHERE id IN (
        SELECT d.id FROM alert_deliveries d
        WHERE d.created_at < :before AND d.state <> 'waiting'
          AND NOT EXISTS (SELECT 1 FROM alerts a JOIN alert_changes c ON c.incident = a.incident
            AND c.rule = a.rule AND c.subject = a.subject
            WHERE a.phase = 'firing' AND c.seq = d.change_seq)
        ORDER BY d.id LIMIT :most)
    """
)
_IS_ANY_DUE = Statement(
    "SELECT 1 FROM alert_deliveries WHERE state = 'waiting' AND next_at <= :now LIMIT 1"
)
# The messages of one alert go to a channel in their order: none while an earlier one waits.
_DUE = Statement(
    """
    SELECT d.id, d.channel, d.change_seq, d.attempts FROM alert_deliveries d
    WHERE d.state = 'waiting' AND d.next_at <= :now
      AND d.channel NOT IN (SELECT channel FROM {busy})
      AND NOT EXISTS (
        SELECT 1 FROM alert_changes c
        JOIN alert_changes b ON b.rule = c.rule AND b.subject = c.subject AND b.seq < c.seq
        JOIN alert_deliveries e ON e.change_seq = b.seq AND e.channel = d.channel
        WHERE c.seq = d.change_seq AND e.state = 'waiting')
    ORDER BY d.next_at, d.id LIMIT :most {lock_skip}
    """,
    busy={"channel": "text"},
)
_BEGIN = Statement(
    """
    UPDATE alert_deliveries SET next_at = :until, attempts = attempts + 1
    WHERE id IN (SELECT id FROM {due})
    """,
    due={"id": "bigint"},
)
_RECORD = Statement(
    """
    UPDATE alert_deliveries SET state = :state, status = :status, error = :error,
        next_at = :next_at, ended_at = :ended_at
    WHERE id = :id AND state = 'waiting'
    """
)
_TESTS_WAITING = Statement(
    """
    SELECT count(*) FROM alert_deliveries WHERE state = 'waiting' AND change_seq IS NULL
    """
)
_INSERT_TEST = Statement(
    """
    INSERT INTO alert_deliveries (channel, next_at, created_at) VALUES (:channel, :now, :now)
    RETURNING id
    """
)
_LAST = Lookup(
    """
    SELECT {each_channel} AS of_channel, id, change_seq, state, attempts, next_at, status, error,
           created_at, ended_at
    FROM alert_deliveries WHERE channel = {each_channel} ORDER BY id DESC LIMIT 1
    """,
    each={"channel": "text"},
)
_ONE = Statement(
    """
    SELECT channel AS of_channel, id, change_seq, state, attempts, next_at, status, error,
           created_at, ended_at
    FROM alert_deliveries WHERE id = :id
    """
)


@dataclass(frozen=True, slots=True)
class AlertDelivery:
    """A delivery that is due, claimed by this sender."""

    id: int
    channel: Channel | None
    """None: the file has the channel no longer, or has disabled it."""
    receiver: str
    attempt: int
    message: Message


class StoredDelivery(NamedTuple):
    """A row of `alert_deliveries`."""

    channel: str
    id: int
    change_seq: int | None
    state: str
    attempts: int
    next_at: int | None
    status: int | None
    error: str | None
    created_at: int
    ended_at: int | None


def insert_deliveries(
    connection: Connection, announcements: Sequence[Announcement], *, now: int
) -> None:
    """Inserts a delivery for each firing and channel."""
    _INSERT(connection, wanted=announcements, now=now)


def insert_deliveries_of_ends(
    connection: Connection, ended: Sequence[tuple[str, str, int]], *, now: int
) -> None:
    """Inserts the deliveries of resolved alerts (rule, subject, incident) to the channels that
    have learned, or will learn, of their firing."""
    _INSERT_ENDS(connection, ended=ended, now=now)


def prune_deliveries(connection: Connection, *, before: int, most: int) -> int:
    """Deletes some old deliveries, except those about alerts that still fire. Returns how many."""
    return _PRUNE(connection, before=before, most=most).rowcount


def is_any_due(connection: Connection, *, now: int) -> bool:
    return _IS_ANY_DUE(connection, now=now).scalar() is not None


def begin_deliveries(
    connection: Connection, *, most: int, each: int, under_way: Mapping[str, int], now: int
) -> list[AlertDelivery]:
    """Claims up to `most` due deliveries, and of each channel at most `each`, those under way
    included."""
    of_channel = Counter(under_way)
    busy = [(channel,) for channel, number in under_way.items() if number >= each]
    begun = []
    for row in _DUE(connection, busy=busy, now=now, most=most):
        of_channel[row.channel] += 1
        if of_channel[row.channel] <= each:
            begun.append(row)
    if not begun:
        return []
    _BEGIN(connection, due=[(row.id,) for row in begun], until=now + CLAIM_FOR)
    channels = {name: one for name, one in stored_channels(connection).items() if one.is_enabled}
    seqs = [row.change_seq for row in begun if row.change_seq is not None]
    messages = {seq: one.message for seq, one in changes_by_seq(connection, seqs).items()}
    return [
        AlertDelivery(row.id, channels.get(row.channel), row.channel, row.attempts + 1,
                      messages.get(row.change_seq) or _test_message(row.id, row.channel, now))
        for row in begun
    ]  # fmt: skip


def record_delivery(
    connection: Connection, delivery: AlertDelivery, *, status: int | None, error: str | None,
    now: int,
) -> None:  # fmt: skip
    """`error` is why the receiver did not accept the delivery, in a sentence; None: accepted."""
    after = after_attempt(delivery.attempt, status, error, now)
    if delivery.channel is None:
        after = after._replace(state="failed", next_at=None, ended_at=now)
    _RECORD(connection, id=delivery.id, status=status, error=error, **after._asdict())


def insert_test(connection: Connection, channel: str, *, now: int) -> StoredDelivery:
    """Inserts a test message for a channel. Raises `NotFound`, and `WrongState` if many wait."""
    channel_named(connection, channel)
    if _TESTS_WAITING(connection).scalar_one() >= MOST_TESTS_WAITING:
        raise WrongState("The number of waiting tests", f"at its limit of {MOST_TESTS_WAITING}",
                         "raised")  # fmt: skip
    found = delivery(connection, _INSERT_TEST(connection, channel=channel, now=now).scalar_one())
    assert found is not None, "it was inserted"
    return found


def delivery(connection: Connection, delivery_id: int) -> StoredDelivery | None:
    row = _ONE(connection, id=delivery_id).one_or_none()
    return StoredDelivery._make(row) if row is not None else None


def last_deliveries(connection: Connection, channels: Sequence[str]) -> dict[str, StoredDelivery]:
    """The newest delivery of each channel that has one."""
    rows = _LAST(connection, [(channel,) for channel in channels]) if channels else []
    return {row.of_channel: StoredDelivery._make(row) for row in rows}


def _test_message(delivery_id: int, channel: str, now: int) -> Message:
    says = f"This is a test of the channel {channel}. Nothing is wrong."
    return Message(id=f"test-{delivery_id}", rule="test", subject="", phase="test",
                   severity="info", says=says, at=now)  # fmt: skip
