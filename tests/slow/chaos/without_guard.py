"""`python without_guard.py GUARD -- worker`: curtsy with one guard taken out, to see it missed.

A check that never fails proves nothing. Each function here undoes one guard of the engine before
its command line starts; the engine itself knows nothing of this file.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any


def trust() -> None:
    """A worker always believes that its sources are still its own."""
    from curtsy.worker.heartbeat import Heartbeat

    Heartbeat.trusted = lambda _self: True  # type: ignore[method-assign]


def hearing() -> None:
    """Nobody tells a worker that it was declared dead, or that its sources are another's."""
    from curtsy.worker import heartbeat
    from curtsy.worker.lane import Lane

    heartbeat.beat = lambda *_given, **_more: True
    Lane.apply_control = lambda *_given: None  # type: ignore[method-assign]


def epoch() -> None:
    """A flush counts whoever owns its sources by now."""
    from curtsy.frontier import flush
    from curtsy.frontier.batch import SourceReport

    fence = flush.fence

    def open_gate(connection: Any, reports: Sequence[SourceReport], **rest: Any) -> frozenset[int]:
        fence(connection, reports, **rest)
        return frozenset(report.source_id for report in reports)

    flush.fence = open_gate  # type: ignore[assignment]


def page_lock() -> None:
    """Pages are read, not locked, before their items change."""
    from curtsy.frontier import flush_rows
    from curtsy.store import Statement

    flush_rows._LOCK_PAGES = Statement(
        """
        SELECT id, document_version, document_hash, retry_count FROM pages
        WHERE id IN (SELECT page_id FROM {wanted})
        """,
        wanted={"page_id": "bigint"},
    )


def turn() -> None:
    """A result counts whichever turn its visit is at: telling it twice is telling it twice."""
    from curtsy.frontier import flush_rows
    from curtsy.store import Statement

    ended = flush_rows._END_VISITS.sql("postgresql")
    assert "(page_id, turn) IN (SELECT page_id, turn" in ended
    flush_rows._END_VISITS = Statement(
        "DELETE FROM visits USING {ended} WHERE visits.page_id = ended.page_id "
        "RETURNING visits.page_id, ended.turn",
        ended=flush_rows._TURN,
    )
    flush_rows._POSTPONE_VISITS = Statement(
        """
        UPDATE visits SET turn = visits.turn + 1, due_at = p.due_at,
            attempt = visits.attempt + p.spent, priority = {least}(visits.priority, p.priority),
            source_id = coalesce(p.source_id, visits.source_id), hops = visits.hops + p.hop,
            current_url = coalesce(p.url, visits.current_url),
            progress = coalesce(p.progress, visits.progress)
        FROM (SELECT * FROM {postponed}) p WHERE visits.page_id = p.page_id
        RETURNING visits.page_id, p.turn
        """,
        postponed=flush_rows._POSTPONE_VISITS._row_sets["postponed"],
    )


def begin_immediate() -> None:
    """A writing transaction on SQLite takes the write lock only when it first writes."""
    from curtsy.store import sqlite

    sqlite.BEGIN_WRITING = "BEGIN"


def idempotency_key() -> None:
    """A request that was made before is another request."""
    from curtsy.jobs import admission

    admission.claim_keys = lambda *_given, **_more: None


def worst() -> None:
    """Whoever takes a source over believes that the dead one told of all its requests."""
    from curtsy.politeness.pace import Pace

    Pace.assume_unreported = lambda *_given: None  # type: ignore[method-assign]


def many_lanes() -> None:
    """A worker holds four sources for each slot: several workers share a few."""
    from curtsy.config import conversions

    conversions.LANES_PER_SLOT = 4


def held_schedule() -> None:
    """Whoever looks at a schedule does not hold it."""
    from curtsy.schedules import firer
    from curtsy.store import Statement

    firer._DUE = Statement(
        f"""
        SELECT {firer.COLUMNS} FROM schedules s WHERE s.look_at <= :now
        ORDER BY s.look_at LIMIT :most
        """
    )


def one_firing() -> None:
    """A slot fires for whoever finds it due. The key of the table has to go, too."""
    from curtsy.schedules import firings
    from curtsy.store import Statement

    firings._CLAIM = Statement(
        """
        INSERT INTO firings (schedule_id, fire_at, fired_at, trigger, outcome, message)
        SELECT schedule_id, fire_at, :now, trigger, outcome, message FROM {made} WHERE true
        RETURNING schedule_id, fire_at, outcome
        """,
        made=firings._CLAIM._row_sets["made"],
    )


def one_transaction() -> None:
    """A slot is claimed for good before its job is there."""
    from curtsy.schedules import firings

    claim = firings._CLAIM

    def at_once(connection: Any, **values: Any) -> list[Any]:
        claimed = claim(connection, **values).all()
        connection.execute("COMMIT")
        connection.execute("BEGIN")
        return list(claimed)

    firings._CLAIM = at_once  # type: ignore[assignment]


def lifeline() -> None:
    """A worker process does not notice that its supervisor is gone. Its processes have the guard
    taken out, too."""
    from curtsy.processes import worker_process
    from curtsy.processes.lifeline import Lifeline

    worker_process.PROGRAM = (__file__, "lifeline", "--")
    Lifeline._wait = lambda *_given: None  # type: ignore[method-assign]


def jar() -> None:
    """What a lane knows of its sessions is not stored."""
    from curtsy.worker.sessions.page_sessions import LaneSessions

    LaneSessions.changed = lambda _self: ()  # type: ignore[method-assign]


def post_mark() -> None:
    """A POST is sent without a mark in the store, and nobody looks for one."""
    from curtsy.worker import lane, sent_posts

    async def always(_marks: object, _visit: object) -> bool:
        return True

    sent_posts.SentMarks.mark = always  # type: ignore[method-assign]
    lane.already_sent = lambda _visit: None


def haste() -> None:
    """No guard, but what hides that one is missing: it takes its time between two statements, so
    that most signals meet it in the middle of a transaction."""
    import random
    import time

    from curtsy.store import Statement

    inner = Statement.__call__

    def slowly(self: Statement, connection: Any, /, **values: Any) -> Any:
        time.sleep(random.uniform(0, 0.01))
        return inner(self, connection, **values)

    Statement.__call__ = slowly  # type: ignore[method-assign]


GUARDS: dict[str, Callable[[], None]] = {
    guard.__name__: guard
    for guard in (
        trust, hearing, epoch, page_lock, turn, begin_immediate, idempotency_key, worst,
        many_lanes, held_schedule, one_firing, one_transaction, lifeline, jar, post_mark, haste,
    )
}  # fmt: skip


if __name__ == "__main__":
    names, words = sys.argv[1], sys.argv[sys.argv.index("--") + 1 :]
    for name in names.split(","):
        GUARDS[name]()
    from curtsy.cli import main

    sys.argv = ["curtsy", *words]
    main()
