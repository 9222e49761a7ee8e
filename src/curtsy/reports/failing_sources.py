"""The sources that fail, those that have failed longest first, each with its most frequent kind of
failure."""

from typing import NamedTuple

from curtsy.clock import DAY
from curtsy.history.reader import of_sources
from curtsy.history.totals import Totals
from curtsy.store import Connection, Statement

MOST = 5

_FAILING = Statement(
    """
    SELECT id, name, failing_since, crash_streak FROM sources
    WHERE (failing_since IS NOT NULL OR crash_streak > 0) AND NOT paused
    ORDER BY crash_streak DESC, coalesce(failing_since, :now), name LIMIT :most
    """
)


class FailingSource(NamedTuple):
    name: str
    failing_since: int | None
    crash_streak: int
    """Workers that died in a row while they visited it."""
    kind: str | None
    """The most frequent kind of its failures within a day; None: the history knows none."""


def failing_sources(connection: Connection, *, now: int, most: int = MOST) -> list[FailingSource]:
    """Paused sources are left out: somebody knows of them."""
    rows = list(_FAILING(connection, now=now, most=most))
    happened = of_sources(connection, [row.id for row in rows], since=now - DAY, until=now)
    return [
        FailingSource(row.name, row.failing_since, row.crash_streak, _kind(happened.get(row.id)))
        for row in rows
    ]


def _kind(totals: Totals | None) -> str | None:
    kinds = totals.kinds if totals is not None else {}
    return max(kinds, key=lambda kind: kinds[kind]) if kinds else None
