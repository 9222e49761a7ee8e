"""Writes the table `dead_letters`: visits given up, until they are retried or resolved."""

from collections.abc import Collection, Mapping, Sequence

from curtsy.frontier.batch import Result
from curtsy.frontier.flush_rows import LockedPage
from curtsy.model.failure_kinds import RULES
from curtsy.model.outcome import Failed
from curtsy.model.page_body import is_sent_once
from curtsy.store import Connection, Statement

_INSERT = Statement(
    """
    INSERT INTO dead_letters (page_id, turn, source_id, kind, family, error, traceback, attempts,
                              final, created_at, last_failed_at)
    SELECT page_id, turn, source_id, kind, family, error, traceback, attempts, final, :now, :now
    FROM {dead} WHERE true
    ON CONFLICT (page_id) WHERE state = 'open' DO UPDATE SET turn = excluded.turn,
        source_id = excluded.source_id, kind = excluded.kind, family = excluded.family,
        error = excluded.error, traceback = excluded.traceback, attempts = excluded.attempts,
        final = excluded.final, times = dead_letters.times + 1,
        last_failed_at = excluded.last_failed_at
    RETURNING page_id, times
    """,
    dead={"page_id": "bigint", "turn": "bigint", "source_id": "bigint", "kind": "text",
          "family": "text", "error": "text", "traceback": "text", "attempts": "smallint",
          "final": "bool"},
)  # fmt: skip
_MARK_RETRIED = Statement(
    """
    UPDATE dead_letters SET state = 'retried', retries = retries + 1
    WHERE state = 'open' AND page_id IN (SELECT page_id FROM {wanted})
    """,
    wanted={"page_id": "bigint"},
)
_RESOLVE = Statement(
    """
    UPDATE dead_letters SET state = 'resolved'
    WHERE state = 'open' AND id IN (SELECT id FROM {wanted})
    """,
    wanted={"id": "bigint"},
)


def insert_dead_letters(
    connection: Connection, results: Sequence[Result], pages: Mapping[int, LockedPage], *, now: int
) -> set[int]:
    """Inserts a dead letter for each visit that was given up; returns the pages that got one. A
    page that has an open letter gets no other: that letter tells of the last failure, and counts
    them. A letter of a POST is final: only a person decides to send it again."""
    rows = [
        (r.visit.page_id, r.visit.turn, r.visit.source_id, r.outcome.kind,
         RULES[r.outcome.kind].family, r.outcome.error, r.outcome.traceback,
         pages[r.visit.page_id].failed_before(r) + r.requested,
         r.outcome.final or is_sent_once(r.visit.options))
        for r in results
        if r.again_at is None and isinstance(r.outcome, Failed)
    ]  # fmt: skip
    if not rows:
        return set()
    written = _INSERT(connection, dead=sorted(rows, key=lambda row: row[0]), now=now).tuples()
    return {page_id for page_id, times in written if times == 1}


def mark_retried(connection: Connection, page_ids: Collection[int]) -> None:
    """Marks the open letters of these pages, whose visits are retried."""
    if page_ids:
        _MARK_RETRIED(connection, wanted=[(page_id,) for page_id in page_ids])


def resolve(connection: Connection, ids: Sequence[int]) -> int:
    """Resolves those of the letters that are still open; returns how many."""
    return _RESOLVE(connection, wanted=[(i,) for i in ids]).rowcount if ids else 0
