"""Reads what an evaluation starts from, and writes what it came to, in one transaction.

The first statement of that transaction raises the turn, and only from the turn that the evaluation
has read. Of several schedulers that evaluated the same, one therefore writes; a transaction whose
commit was not acknowledged writes nothing when it is repeated.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from curtsy.alerts.evaluation import Change, Plan, Standing, StoredAlert
from curtsy.alerts.state_machine import Phase
from curtsy.alerts.stored_channels import channel_terms
from curtsy.alerts.stored_rules import deleted_rules, listed_rules, stored_mutes
from curtsy.clock import DAY
from curtsy.frontier.fence import require_same_time
from curtsy.store import Connection, Statement

KEEP_RESOLVED, KEEP_CHANGES = 30 * DAY, 90 * DAY
PRUNED_AT_ONCE = 1_000

_KEY = {"rule": "text", "subject": "text"}
_INCIDENT = {**_KEY, "incident": "bigint"}
_STANDING = Statement("SELECT turn, evaluated_at, clock_version FROM alert_evaluations")
_ALERTS = Statement(
    """
    SELECT rule, subject, phase, held_ms, seen_at, value, incident, announced, since_at, fired_at,
           resolved_at
    FROM alerts
    """
)
_CLAIM = Statement(
    """
    UPDATE alert_evaluations SET turn = turn + 1, evaluated_at = :now, clock_version = :version
    WHERE id = 1 AND turn = :turn
    """
)
_STORE = Statement(
    """
    INSERT INTO alerts (rule, subject, phase, held_ms, seen_at, value, incident, announced,
                        since_at, fired_at, resolved_at)
    SELECT rule, subject, phase, held_ms, seen_at, value, incident, announced, since_at, fired_at,
           resolved_at
    FROM {rows} WHERE true
    ON CONFLICT (rule, subject) DO UPDATE SET phase = excluded.phase, held_ms = excluded.held_ms,
        seen_at = excluded.seen_at, value = excluded.value, incident = excluded.incident,
        announced = excluded.announced, since_at = excluded.since_at, fired_at = excluded.fired_at,
        resolved_at = excluded.resolved_at
    """,
    rows={**_KEY, "phase": "text", "held_ms": "bigint", "seen_at": "bigint",
          "value": "double precision", "incident": "bigint", "announced": "bool",
          "since_at": "bigint", "fired_at": "bigint", "resolved_at": "bigint"},
)  # fmt: skip
_DELETE = Statement(
    """
    DELETE FROM alerts WHERE EXISTS (
        SELECT 1 FROM {keys} WHERE keys.rule = alerts.rule AND keys.subject = alerts.subject)
    """,
    keys=_KEY,
)
_INSERT_CHANGES = Statement(
    """
    INSERT INTO alert_changes (rule, subject, incident, phase, at, data)
    SELECT rule, subject, incident, phase, :now, data FROM {changes} WHERE true
    """,
    changes={**_INCIDENT, "phase": "text", "data": "text"},
)
_ANNOUNCE = Statement(
    """
    INSERT INTO alert_deliveries (change_seq, channel, next_at, created_at)
    SELECT c.seq, wanted.channel, :now, :now FROM {wanted}
    JOIN alert_changes c ON c.rule = wanted.rule AND c.subject = wanted.subject
        AND c.incident = wanted.incident AND c.phase = 'firing'
    WHERE true ON CONFLICT (change_seq, channel) DO NOTHING
    """,
    wanted={**_INCIDENT, "channel": "text"},
)
_ANNOUNCE_ENDS = Statement(  # to the channels that have learned, or will learn, of the firing
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
_CHANGES_AFTER = Statement(
    """
    SELECT seq, rule, subject, incident, phase, at, data FROM alert_changes
    WHERE seq > :seq ORDER BY seq LIMIT :most
    """
)
_LAST_CHANGES = Statement(
    """
    SELECT seq, rule, subject, incident, phase, at, data FROM alert_changes
    ORDER BY seq DESC LIMIT :most
    """
)
_END_OF_CHANGES = Statement("SELECT coalesce(max(seq), 0) FROM alert_changes")
_PRUNE = tuple(
    Statement(sql)
    for sql in (
        "DELETE FROM alert_mutes WHERE until_at < :now",
        "DELETE FROM alerts WHERE phase = 'resolved' AND resolved_at < :resolved_before",
        """
        DELETE FROM alert_rules WHERE declared = 'null' AND NOT EXISTS (
            SELECT 1 FROM alerts a WHERE a.rule = alert_rules.name AND a.phase <> 'resolved')
        """,
        """
        DELETE FROM alert_deliveries WHERE id IN (
            SELECT id FROM alert_deliveries WHERE created_at < :before AND state <> 'waiting'
            ORDER BY id LIMIT :most)
          AND NOT EXISTS (SELECT 1 FROM alerts a JOIN alert_changes c ON c.incident = a.incident
            AND c.rule = a.rule AND c.subject = a.subject
            WHERE a.phase = 'firing' AND c.seq = alert_deliveries.change_seq)
        """,
        """
        DELETE FROM alert_changes WHERE seq IN (
            SELECT c.seq FROM alert_changes c
            WHERE c.at < :before
              AND NOT EXISTS (SELECT 1 FROM alert_deliveries d WHERE d.change_seq = c.seq)
              AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.rule = c.rule
                AND a.subject = c.subject AND a.incident = c.incident AND a.phase = 'firing')
            ORDER BY c.at LIMIT :most)
        """,
    )
)


class StoredChange(NamedTuple):
    """A row of `alert_changes`."""

    seq: int
    rule: str
    subject: str
    incident: int
    phase: str
    at: int
    data: dict[str, Any]


class LastEvaluation(NamedTuple):
    turn: int
    evaluated_at: int | None
    clock_version: int | None


def last_evaluation(connection: Connection) -> LastEvaluation:
    return LastEvaluation._make(_STANDING(connection).one())


def read_standing(connection: Connection) -> Standing:
    """Reads the turn first: whatever changes after it, the plan is not written then."""
    last = last_evaluation(connection)
    return Standing(
        turn=last.turn, evaluated_at=last.evaluated_at, clock_version=last.clock_version,
        rules={name: one.rule for name, one in listed_rules(connection).items()},
        alerts={(alert.rule, alert.subject): alert for alert in stored_alerts(connection)},
        deleted=deleted_rules(connection),
        channels=channel_terms(connection),
        mutes=stored_mutes(connection),
    )  # fmt: skip


def stored_alerts(connection: Connection) -> list[StoredAlert]:
    return [StoredAlert._make(row)._replace(announced=bool(row.announced))
            for row in _ALERTS(connection)]  # fmt: skip


def write_plan(
    connection: Connection, standing: Standing, plan: Plan, *, now: int, clock_version: int | None
) -> bool:
    """Writes the plan, or nothing if the standing is outdated: then returns False. Raises
    `TimeShifted` if the clock jumped since `now` was read."""
    claimed = _CLAIM(connection, turn=standing.turn, now=now, version=clock_version).rowcount
    if not claimed:
        return False
    require_same_time(connection, clock_version)
    if plan.stored:
        _STORE(connection, rows=plan.stored)
    if plan.deleted:
        _DELETE(connection, keys=plan.deleted)
    if plan.changes:
        _INSERT_CHANGES(connection, changes=[_row(change) for change in plan.changes], now=now)
    if plan.announcements:
        _ANNOUNCE(connection, wanted=plan.announcements, now=now)
    ended = [(one.rule, one.subject, one.incident) for one in plan.changes
             if one.phase == Phase.RESOLVED]  # fmt: skip
    if ended:
        _ANNOUNCE_ENDS(connection, ended=ended, now=now)
    return True


def changes_after(connection: Connection, seq: int, *, most: int) -> list[StoredChange]:
    """Oldest first. Changes commit in the order of their numbers: the turn is locked before."""
    return [_change(row) for row in _CHANGES_AFTER(connection, seq=seq, most=most)]


def last_changes(connection: Connection, *, most: int) -> list[StoredChange]:
    """Newest first."""
    return [_change(row) for row in _LAST_CHANGES(connection, most=most)]


def end_of_changes(connection: Connection) -> int:
    return int(_END_OF_CHANGES(connection).scalar_one())


def prune(connection: Connection, *, now: int) -> None:
    """Deletes ended mutes, and alerts and messages that are old, some of each."""
    values = {
        "now": now, "resolved_before": now - KEEP_RESOLVED, "before": now - KEEP_CHANGES,
        "most": PRUNED_AT_ONCE,
    }  # fmt: skip
    for statement in _PRUNE:
        statement(connection, **values)


def _row(change: Change) -> Sequence[Any]:
    data = orjson.dumps(change.data).decode()
    return change.rule, change.subject, change.incident, str(change.phase), data


def _change(row: Any) -> StoredChange:
    return StoredChange(row.seq, row.rule, row.subject, row.incident, row.phase, row.at,
                        orjson.loads(row.data))  # fmt: skip
