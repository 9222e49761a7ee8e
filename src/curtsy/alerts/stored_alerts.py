"""Reads what an evaluation starts from, and writes what it came to, in one transaction.

The first statement of that transaction raises the turn, and only from the turn that the evaluation
has read. Of several schedulers that evaluated the same, one therefore writes; a transaction whose
commit was not acknowledged writes nothing when it is repeated.
"""

from typing import NamedTuple

from curtsy.alerts.evaluation import Plan, Standing, StoredAlert
from curtsy.alerts.outbox import insert_deliveries, insert_deliveries_of_ends, prune_deliveries
from curtsy.alerts.state_machine import Phase
from curtsy.alerts.stored_changes import insert_changes, prune_changes
from curtsy.alerts.stored_channels import channel_terms
from curtsy.alerts.stored_rules import deleted_rules, listed_rules, prune_rules, stored_mutes
from curtsy.clock import DAY
from curtsy.frontier.fence import require_same_time
from curtsy.store import Connection, Statement

KEEP_RESOLVED, KEEP_CHANGES = 30 * DAY, 90 * DAY
PRUNED_AT_ONCE = 1_000
MOST_RESOLVED = 1_000
"""Every evaluation reads them, and each restart of a worker may leave one behind."""

_KEY = {"rule": "text", "subject": "text"}
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
_PRUNE_ALERTS = Statement(
    """
    DELETE FROM alerts WHERE phase = 'resolved' AND (resolved_at < :resolved_before
        OR resolved_at < (SELECT resolved_at FROM alerts WHERE phase = 'resolved'
                          ORDER BY resolved_at DESC LIMIT 1 OFFSET :others))
    """
)


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
        insert_changes(connection, plan.changes, now=now)
    if plan.announcements:
        insert_deliveries(connection, plan.announcements, now=now)
    ended = [(one.rule, one.subject, one.incident) for one in plan.changes
             if one.phase == Phase.RESOLVED]  # fmt: skip
    if ended:
        insert_deliveries_of_ends(connection, ended, now=now)
    return True


def prune(connection: Connection, *, now: int) -> bool:
    """Deletes ended mutes, and alerts and messages that are old, some of each. Returns whether
    there may be more of them."""
    prune_rules(connection, now=now)
    _PRUNE_ALERTS(connection, resolved_before=now - KEEP_RESOLVED, others=MOST_RESOLVED - 1)
    before = now - KEEP_CHANGES
    deliveries = prune_deliveries(connection, before=before, most=PRUNED_AT_ONCE)
    changes = prune_changes(connection, before=before, most=PRUNED_AT_ONCE)
    return max(deliveries, changes) >= PRUNED_AT_ONCE
