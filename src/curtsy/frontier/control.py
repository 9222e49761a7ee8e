"""Once a second a worker asks what changed for the sources and visits that it holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from curtsy.store import Connection, Statement

Turn = tuple[int, int]
"""A page, and which of its visits' turns."""


@dataclass(frozen=True, slots=True)
class SourceNews:
    epoch: int
    owner: str | None
    paused: bool
    band: int
    control_version: int
    policy: dict[str, Any]


_SOURCES = Statement(
    """
    SELECT s.id, s.epoch, s.owner, s.paused, s.band, s.control_version, s.policy
    FROM {held} JOIN sources s ON s.id = held.id
    """,
    held={"id": "bigint"},
)
_GONE = Statement(
    """
    SELECT held.page_id, held.turn, v.page_id IS NULL AS gone FROM {held}
    LEFT JOIN visits v ON v.page_id = held.page_id AND v.turn = held.turn
    WHERE v.page_id IS NULL OR v.source_id <> held.source_id
    """,
    held={"page_id": "bigint", "turn": "bigint", "source_id": "bigint"},
)
_OWNED = Statement("SELECT id, epoch FROM sources WHERE owner = :worker")
_LOCK_STRAYS = Statement(
    """
    SELECT id FROM sources WHERE (id, epoch) IN (SELECT id, epoch FROM {strays})
      AND owner = :worker ORDER BY id {lock}
    """,
    strays={"id": "bigint", "epoch": "bigint"},
)
_GIVE_BACK = Statement(
    """
    UPDATE sources SET owner = NULL, unreported = true,
        next_fetch_at = {greatest}(coalesce(next_fetch_at, 0), :now + delay_ms),
        ready_at = {greatest}(coalesce(next_fetch_at, 0), :now + delay_ms)
    WHERE id IN (SELECT id FROM {held})
    """,
    held={"id": "bigint"},
)
_SUSPECT = Statement(
    """
    UPDATE sources SET suspect_page_id = :page_id
    WHERE id = :source_id AND owner = :worker AND epoch = :epoch
    """
)


def news(connection: Connection, source_ids: Sequence[int]) -> dict[int, SourceNews]:
    rows = _SOURCES(connection, held=[(i,) for i in source_ids])
    return {
        r.id: SourceNews(r.epoch, r.owner, bool(r.paused), r.band, r.control_version,
                         orjson.loads(r.policy))
        for r in rows
    }  # fmt: skip


def gone(
    connection: Connection, held: Sequence[tuple[int, int, int]]
) -> tuple[set[Turn], set[Turn]]:
    """Turns among those held (page, turn, source) whose visit is no more, as after a cancel; and
    those whose visit waits in another source by now."""
    rows = list(_GONE(connection, held=held))
    vanished = {(r.page_id, r.turn) for r in rows if r.gone}
    return vanished, {(r.page_id, r.turn) for r in rows} - vanished


def owned(connection: Connection, worker: str) -> dict[int, int]:
    """The epoch of every source that is this worker's, whether or not it knows."""
    return {row.id: row.epoch for row in _OWNED(connection, worker=worker)}


def release_strays(
    connection: Connection, strays: Sequence[tuple[int, int]], *, worker: str, now: int
) -> int:
    """Free sources (id, epoch) that are ours but in no lane, as when the answer of a lease was
    lost or a lane failed; whatever was started there, the delay is kept from now."""
    held = list(_LOCK_STRAYS(connection, strays=strays, worker=worker).scalars())
    if held:
        _GIVE_BACK(connection, held=[(i,) for i in held], now=now)
    return len(held)


def suspect(
    connection: Connection, *, source_id: int, page_id: int, worker: str, epoch: int
) -> bool:
    """Name the page about to be visited, on a source whose owners keep dying."""
    row = _SUSPECT(connection, source_id=source_id, page_id=page_id, worker=worker, epoch=epoch)
    return row.rowcount == 1
