"""The stored changes of alerts: each firing and each end, in the order of their numbers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from curtsy.alerts.evaluation import Change
from curtsy.alerts.message import Message
from curtsy.store import Connection, Statement

_INSERT = Statement(
    """
    INSERT INTO alert_changes (rule, subject, incident, phase, at, data)
    SELECT rule, subject, incident, phase, :now, data FROM {changes} WHERE true
    """,
    changes={
        "rule": "text",
        "subject": "text",
        "incident": "bigint",
        "phase": "text",
        "data": "text",
    },
)
_AFTER = Statement(
    """
    SELECT seq, rule, subject, incident, phase, at, data FROM alert_changes
    WHERE seq > :seq ORDER BY seq LIMIT :most
    """
)
_LAST = Statement(
    """
    SELECT seq, rule, subject, incident, phase, at, data FROM alert_changes
    ORDER BY seq DESC LIMIT :most
    """
)
_END = Statement("SELECT coalesce(max(seq), 0) FROM alert_changes")
_BY_SEQ = Statement(
    """
    SELECT c.seq, c.rule, c.subject, c.incident, c.phase, c.at, c.data
    FROM {wanted} JOIN alert_changes c ON c.seq = wanted.seq
    """,
    wanted={"seq": "bigint"},
)
_PRUNE = Statement(
    """
    DELETE FROM alert_changes WHERE seq IN (
        SELECT c.seq FROM alert_changes c
        WHERE c.at < :before
          AND NOT EXISTS (SELECT 1 FROM alert_deliveries d WHERE d.change_seq = c.seq)
          AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.rule = c.rule
            AND a.subject = c.subject AND a.incident = c.incident AND a.phase = 'firing')
        ORDER BY c.at LIMIT :most)
    """
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

    @property
    def message(self) -> Message:
        """What is sent about it."""
        data = self.data
        return Message(
            id=f"alert-{self.seq}", rule=self.rule, subject=self.subject, phase=self.phase,
            severity=data["severity"], says=data["says"], to_do=data["to_do"], at=self.at,
            value=data["value"], threshold=data.get("threshold"), incident=self.incident,
            fired_at=data["fired_at"],
        )  # fmt: skip


def insert_changes(connection: Connection, changes: Sequence[Change], *, now: int) -> None:
    _INSERT(connection, changes=[_row(change) for change in changes], now=now)


def changes_by_seq(connection: Connection, seqs: Sequence[int]) -> dict[int, StoredChange]:
    if not seqs:
        return {}
    found = _BY_SEQ(connection, wanted=[(seq,) for seq in seqs])
    return {row.seq: _change(row) for row in found}


def changes_after(connection: Connection, seq: int, *, most: int) -> list[StoredChange]:
    """Oldest first. Changes commit in the order of their numbers: the turn is locked before."""
    return [_change(row) for row in _AFTER(connection, seq=seq, most=most)]


def last_changes(connection: Connection, *, most: int) -> list[StoredChange]:
    """Newest first."""
    return [_change(row) for row in _LAST(connection, most=most)]


def end_of_changes(connection: Connection) -> int:
    return int(_END(connection).scalar_one())


def prune_changes(connection: Connection, *, before: int, most: int) -> int:
    """Deletes some old changes, except those of alerts that still fire. Returns how many."""
    return _PRUNE(connection, before=before, most=most).rowcount


def _row(change: Change) -> Sequence[Any]:
    data = orjson.dumps(change.data).decode()
    return change.rule, change.subject, change.incident, str(change.phase), data


def _change(row: Any) -> StoredChange:
    return StoredChange(row.seq, row.rule, row.subject, row.incident, row.phase, row.at,
                        orjson.loads(row.data))  # fmt: skip
