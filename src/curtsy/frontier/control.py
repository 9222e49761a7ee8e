"""What a worker reads and changes once a second about the sources and visits that it holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from curtsy.store import Connection, Statement

Turn = tuple[int, int]
"""A page id, and the turn of its visit."""


@dataclass(frozen=True, slots=True)
class SourceNews:
    """The columns of a leased source that others may have changed."""

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
_LOST_VISITS = Statement(
    """
    SELECT held.page_id, held.turn, v.page_id IS NULL AS gone FROM {held}
    LEFT JOIN visits v ON v.page_id = held.page_id AND v.turn = held.turn
    WHERE v.page_id IS NULL OR v.source_id <> held.source_id
    """,
    held={"page_id": "bigint", "turn": "bigint", "source_id": "bigint"},
)
_HELD_BY_OTHERS = Statement(
    """
    SELECT (SELECT count(*) FROM sources s WHERE s.owner = w.id) FROM workers w
    WHERE w.id <> :worker AND NOT w.draining
    """
)
_OWNED = Statement("SELECT id, epoch FROM sources WHERE owner = :worker")
_LOCK_STRAYS = Statement(
    """
    SELECT id FROM sources WHERE (id, epoch) IN (SELECT id, epoch FROM {strays})
      AND owner = :worker ORDER BY id {lock}
    """,
    strays={"id": "bigint", "epoch": "bigint"},
)
_RELEASE_STRAYS = Statement(
    """
    UPDATE sources SET owner = NULL, unreported = true,
        next_fetch_at = {greatest}(coalesce(next_fetch_at, 0), :now + delay_ms),
        ready_at = {greatest}(coalesce(next_fetch_at, 0), :now + delay_ms)
    WHERE id IN (SELECT id FROM {held})
    """,
    held={"id": "bigint"},
)
_STORE_SUSPECT = Statement(
    """
    UPDATE sources SET suspect_page_id = :page_id
    WHERE id = :source_id AND owner = :worker AND epoch = :epoch
    """
)


def source_news(connection: Connection, source_ids: Sequence[int]) -> dict[int, SourceNews]:
    rows = _SOURCES(connection, held=[(i,) for i in source_ids])
    return {
        r.id: SourceNews(r.epoch, r.owner, bool(r.paused), r.band, r.control_version,
                         orjson.loads(r.policy))
        for r in rows
    }  # fmt: skip


def lost_visits(
    connection: Connection, held: Sequence[tuple[int, int, int]]
) -> tuple[set[Turn], set[Turn]]:
    """Returns the turns among `held` (page, turn, source) whose visit was deleted, as after a
    cancel; and those whose visit has moved to another source."""
    rows = list(_LOST_VISITS(connection, held=held))
    vanished = {(r.page_id, r.turn) for r in rows if r.gone}
    return vanished, {(r.page_id, r.turn) for r in rows} - vanished


def held_by_others(connection: Connection, worker: str) -> list[int]:
    """How many sources each other worker holds."""
    return [int(held) for held in _HELD_BY_OTHERS(connection, worker=worker).scalars()]


def owned_sources(connection: Connection, worker: str) -> dict[int, int]:
    """The epoch of every source that this worker owns in the database, known to it or not."""
    return {row.id: row.epoch for row in _OWNED(connection, worker=worker)}


def release_strays(
    connection: Connection, strays: Sequence[tuple[int, int]], *, worker: str, now: int
) -> int:
    """Releases sources (id, epoch) that this worker owns but has no lane for, as after a lease
    whose answer was lost or a lane that failed. The delay counts from now, since a request may have
    been started."""
    held = list(_LOCK_STRAYS(connection, strays=strays, worker=worker).scalars())
    if held:
        _RELEASE_STRAYS(connection, held=[(i,) for i in held], now=now)
    return len(held)


def store_suspect(
    connection: Connection, *, source_id: int, page_id: int, worker: str, epoch: int
) -> bool:
    """Stores which page is about to be visited, on a source whose owners keep crashing. Returns
    False if this worker no longer owns the source."""
    stored = _STORE_SUSPECT(
        connection, source_id=source_id, page_id=page_id, worker=worker, epoch=epoch
    )
    return stored.rowcount == 1
