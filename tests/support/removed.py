"""Removes the guards of shared rows one by one: each replacement is the naive form that loses
data."""

from collections.abc import Sequence
from typing import Any

import pytest

from curtsy.events import stored_events as events
from curtsy.frontier import admit, flush, flush_rows, job_counts
from curtsy.frontier.batch import Result
from curtsy.schedules import firer, firings, lookup
from curtsy.store import Connection, Statement

_TURN = {"page_id": "bigint", "turn": "bigint"}
_PAGE = {"page_id": "bigint"}


def page_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    unlocked = Statement(
        "SELECT id, document_version, document_hash, retry_count FROM pages "
        "WHERE id IN (SELECT page_id FROM {wanted})",
        wanted=_PAGE,
    )
    monkeypatch.setattr(flush_rows, "_LOCK_PAGES", unlocked)


def order_of_page_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    unsorted = Statement(
        "SELECT id, document_version, document_hash, retry_count FROM pages "
        "WHERE id IN (SELECT page_id FROM {wanted}) {lock}",
        wanted=_PAGE,
    )
    monkeypatch.setattr(flush_rows, "_LOCK_PAGES", unsorted)


def later_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush that ends visits and items in one statement, hence in one snapshot.

    It knows only fetched pages of a first version, which is all that its tests flush.
    """
    at_once = Statement(
        """
        WITH gone AS (DELETE FROM visits
                      WHERE (page_id, turn) IN (SELECT page_id, turn FROM {ended})
                      RETURNING page_id),
        over AS (UPDATE items SET state = 1, document_version = 1, ended_at = 1 FROM gone
                 WHERE items.page_id = gone.page_id AND items.state = 0
                 RETURNING items.job_id, items.page_id)
        SELECT gone.page_id, over.job_id FROM gone LEFT JOIN over ON over.page_id = gone.page_id
        """,
        ended=_TURN,
    )

    def move_visits(
        connection: Connection, results: Sequence[Result], _sources: Any
    ) -> list[Result]:
        ended = [(r.visit.page_id, r.visit.turn) for r in results]
        rows = list(at_once(connection, ended=ended))
        return [r for r in results if r.visit.page_id in {row.page_id for row in rows}]

    monkeypatch.setattr(flush, "move_visits", move_visits)
    found_ended = Statement(
        """
        SELECT job_id, position, page_id, depth, uses, 0 AS created_at FROM items
        WHERE page_id IN (SELECT page_id FROM {ended}) AND ended_at = 1
          AND CAST(:now AS bigint) > 0
        """,
        ended={"page_id": "bigint", "state": "smallint", "document_version": "int", "kind": "text",
               "error": "text", "fetched_at": "bigint"},
    )  # fmt: skip
    monkeypatch.setattr(flush, "_END_ITEMS", found_ended)


def locking_join(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Statement(
        """
        INSERT INTO pages (fingerprint, url, host, scraper, options, reference_count, created_at)
        SELECT fingerprint, url, host, scraper, options, times, :now FROM {wanted}
        WHERE true ORDER BY fingerprint ON CONFLICT (fingerprint) DO NOTHING
        """,
        wanted={"fingerprint": "text", "url": "text", "host": "text", "scraper": "text",
                "options": "text", "times": "int"},
    )  # fmt: skip
    monkeypatch.setattr(admit, "_UPSERT_PAGES", nothing)


def locking_join_of_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Statement(
        """
        INSERT INTO visits (page_id, source_id, priority, rank, turn, created_at)
        SELECT p.id, w.source_id, w.priority, w.rank, p.turn + 1, :now
        FROM (SELECT * FROM {wanted}) w JOIN pages p ON p.fingerprint = w.fingerprint
        WHERE true
        ON CONFLICT (page_id) DO NOTHING
        """,
        wanted={"fingerprint": "text", "source_id": "bigint", "priority": "smallint",
                "rank": "bigint", "links": "bool", "fresh_since": "bigint"},
    )  # fmt: skip
    monkeypatch.setattr(admit, "_INSERT_VISITS", nothing)


def fence(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_ours(_connection: Connection, reports: Any, **_more: Any) -> frozenset[int]:
        return frozenset(report.source_id for report in reports)

    monkeypatch.setattr(flush, "fence", all_ours)


def turn_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    by_page = Statement(
        "DELETE FROM visits USING {ended} WHERE visits.page_id = ended.page_id "
        "RETURNING visits.page_id, ended.turn",
        ended=_TURN,
    )
    monkeypatch.setattr(flush_rows, "_END_VISITS", by_page)
    postponed_by_page = Statement(
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
    monkeypatch.setattr(flush_rows, "_POSTPONE_VISITS", postponed_by_page)


def job_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    unlocked = Statement(
        """
        SELECT id, state, total, done, failed, cancelled, links_waiting, last_event, round,
               webhook_url, public_id, NULL AS site FROM jobs
        WHERE id IN (SELECT id FROM {wanted}) ORDER BY id
        """,
        wanted={"id": "bigint"},
    )
    monkeypatch.setattr(job_counts, "_LOCK", unlocked)


def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events are read by sequence alone, as soon as they are there."""
    at_once = Statement(
        f"""
        SELECT {events._EVENT_COLUMNS} FROM events e JOIN jobs j ON j.id = e.job_id
        WHERE e.seq > CAST(:seq AS bigint) AND CAST(:xid AS bigint) >= 0
        ORDER BY e.seq LIMIT :most
        """
    )
    monkeypatch.setattr(events, "_OF_ALL", at_once)


def one_firing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scheduler that finds a slot due fires it. The test also drops the table's key."""
    every = Statement(
        """
        INSERT INTO firings (schedule_id, fire_at, fired_at, trigger, outcome, message)
        SELECT schedule_id, fire_at, :now, trigger, outcome, message FROM {made} WHERE true
        RETURNING schedule_id, fire_at, outcome
        """,
        made=firings._CLAIM._row_sets["made"],
    )
    monkeypatch.setattr(firings, "_CLAIM", every)


def held_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions about a schedule read it without a lock."""
    of_all = f"SELECT {firer.COLUMNS} FROM schedules s"
    due = Statement(f"{of_all} WHERE s.look_at <= :now ORDER BY s.look_at LIMIT :most")
    named = Statement(f"{of_all} WHERE s.public_id = :id")
    monkeypatch.setattr(firer, "_DUE", due)
    monkeypatch.setattr(lookup, "_LOCK", named)
