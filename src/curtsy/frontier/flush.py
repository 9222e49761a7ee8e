"""Stores a worker's results and reports in one transaction of a fixed number of statements.

A flush first fences, then locks the pages and moves the visits; all else follows from the visits
that moved, and is sent together: a busy event loop delays each answer of the database. A repeated
flush, as after a commit whose answer was lost, changes nothing.
"""

from collections.abc import Sequence
from typing import Any

from curtsy.clock import rfc3339
from curtsy.frontier.batch import Batch, Flushed, Result, outcome_name
from curtsy.frontier.cookie_jars import store_jars
from curtsy.frontier.crawls.leads import FoundLinks, store_links
from curtsy.frontier.crawls.lists import FoundList, store_lists
from curtsy.frontier.dead_letters import insert_dead_letters
from curtsy.frontier.fence import fence, pace_calls, release, require_same_time
from curtsy.frontier.flush_rows import (
    attempt_call,
    document_calls,
    lock_pages,
    move_visits,
    new_versions,
    page_call,
)
from curtsy.frontier.history_facts import history_call
from curtsy.frontier.job_counts import Changes, Event, Spent, count
from curtsy.frontier.sources import sources_for, wake
from curtsy.model.job_states import ItemState, band_of
from curtsy.model.outcome import Again, Failed, Fetched, Moved, NotModified
from curtsy.model.page_use import is_followed, lists_pages
from curtsy.store import Call, Connection, Statement, together

_END_ITEMS = Statement(
    """
    UPDATE items SET state = e.state, document_version = e.document_version, kind = e.kind,
        error = e.error, fetched_at = e.fetched_at, ended_at = :now
    FROM (SELECT * FROM {ended}) e
    WHERE items.page_id = e.page_id AND items.state = 0
    RETURNING items.job_id, items.position, items.page_id, items.depth, items.uses,
        (SELECT j.created_at FROM jobs j WHERE j.id = items.job_id) AS created_at
    """,
    ended={"page_id": "bigint", "state": "smallint", "document_version": "int", "kind": "text",
           "error": "text", "fetched_at": "bigint"},
)  # fmt: skip
_WAITING_ITEMS = Statement(
    """
    SELECT items.job_id, items.page_id, items.depth, j.created_at
    FROM items JOIN jobs j ON j.id = items.job_id
    WHERE items.page_id IN (SELECT page_id FROM {wanted}) AND items.state = 0
    """,
    wanted={"page_id": "bigint"},
)


_Counted = tuple[Result, int]
"""A result that counts, and the version of its page's document."""


def flush(
    connection: Connection,
    batch: Batch,
    *,
    worker: str,
    delay_ms: int,
    now: int,
    clock_version: int | None = None,
) -> Flushed:
    """Stores the results that count; returns which sources this worker no longer owns."""
    source_of = _sources_moved_to(connection, batch.results, delay_ms=delay_ms, now=now)
    reports = list(batch.reports.values())
    owned = fence(connection, reports, worker=worker, also_lock=source_of.values())
    require_same_time(connection, clock_version)
    reports = [report for report in reports if report.source_id in owned]
    results = [r for r in batch.results if r.visit.source_id in owned]
    _wake_moved_to(connection, results, source_of, now=now)
    counted, calls = _record(connection, results, source_of, worker=worker, now=now)
    calls += pace_calls(reports, good={r.visit.source_id for r, _version in counted})
    changes = _changes(connection, counted, batch.started, calls, now=now)
    # after the items, whose locks it holds by then
    store_jars(connection, [jar for report in reports for jar in report.jars], now=now)
    count(connection, changes, now=now)
    release(connection, reports, now=now)
    return Flushed(
        lost_sources=frozenset(batch.reports) - owned,
        recorded=len(counted),
        dropped=len(batch.results) - len(counted),
        run_events=changes.run_events,
    )


def _sources_moved_to(
    connection: Connection, results: Sequence[Result], *, delay_ms: int, now: int
) -> dict[str, int]:
    bands = {r.moved_to_host: band_of(r.visit.priority) for r in results if r.moved_to_host}
    if not bands:
        return {}
    return sources_for(connection, bands, delay_ms=delay_ms, now=now).by_host


def _wake_moved_to(
    connection: Connection, results: Sequence[Result], source_of: dict[str, int], *, now: int
) -> None:
    bands: dict[int, int] = {}
    for r in results:
        if r.moved_to_host:
            source_id, band = source_of[r.moved_to_host], band_of(r.visit.priority)
            bands[source_id] = min(bands.get(source_id, band), band)
    wake(connection, bands, now=now)


def _record(
    connection: Connection,
    results: Sequence[Result],
    source_of: dict[str, int],
    *,
    worker: str,
    now: int,
) -> tuple[list[_Counted], list[Call]]:
    """Moves the visits. Returns the results that count, and what else is to be written of them."""
    if not results:
        return [], []
    pages = lock_pages(connection, [r.visit.page_id for r in results])
    counted = move_visits(connection, results, source_of)
    if not counted:
        return [], []
    versions, new_documents = new_versions(counted, pages)
    new_letters = insert_dead_letters(connection, counted, pages, now=now)
    calls = [
        *document_calls(new_documents),
        page_call(counted, pages, versions, now=now),
        attempt_call(counted, pages, worker=worker),
        history_call(counted, new_letters=new_letters),
    ]
    return [(r, versions[r.visit.page_id]) for r in counted], calls


def _changes(
    connection: Connection, counted: Sequence[_Counted], started: Sequence[int],
    calls: Sequence[Call], *, now: int,
) -> Changes:  # fmt: skip
    """Ends the items of the results, runs the other calls with that, and returns the changes of the
    jobs that wait for the pages."""
    changes = Changes()
    ended = {r.visit.page_id: (r, version) for r, version in counted if r.again_at is None}
    continued = {r.visit.page_id: r for r, _version in counted if r.again_at is not None}
    rows = [_item_row(r, version) for r, version in ended.values()]
    waiting = [(page_id,) for page_id in {*continued, *started} - ended.keys()]
    ending, looking = _END_ITEMS, _WAITING_ITEMS
    *_written, of_ended, of_waiting = together(
        connection, *calls, (ending, {"ended": rows, "now": now}), (looking, {"wanted": waiting})
    )
    links, lists = [], []
    for job_id, position, page_id, depth, uses, created_at in of_ended.tuples():
        result, version = ended[page_id]
        changes[job_id].add(_event(result, position), *_times(result, created_at or 0))
        if result.links and is_followed(uses):
            links.append(FoundLinks(job_id, depth + 1, result.links))
        if lists_pages(uses) and not isinstance(result.outcome, Failed):
            lists.append(FoundList(job_id, depth, page_id, version))
    store_links(connection, links, changes)
    store_lists(connection, lists, changes)
    for job_id, page_id, _depth, created_at in of_waiting.tuples():
        changes[job_id].started = True
        if page_id in continued:
            result = continued[page_id]
            changes[job_id].add(_event(result), *_times(result, created_at))
    return changes


def _times(result: Result, created_at: int) -> tuple[Spent, int]:
    """The time that the result adds to a job, and when the job began with it: a job may join a
    request that started before the job was created."""
    return _spent(result, created_at), max(result.started_at, created_at)


def _spent(result: Result, created_at: int) -> Spent:
    """The time that the result adds to a job, including the wait until the next attempt after a
    failure. A job that joined a waiting visit does not count waits before its creation."""
    whole = sum(result.waited)
    share = min(1.0, max(0, result.started_at - created_at) / whole) if whole else 1.0
    capacity, politeness, closed, backoff = (round(part * share) for part in result.waited)
    if result.again_at is not None and isinstance(result.outcome, Failed):
        backoff += result.again_at - result.ended_at
    return capacity, politeness, closed, backoff, result.ended_at - result.started_at


def _item_row(result: Result, version: int) -> tuple[Any, ...]:
    page_id, outcome = result.visit.page_id, result.outcome
    if isinstance(outcome, Failed):
        return page_id, int(ItemState.FAILED), None, outcome.kind, outcome.error, None
    return page_id, int(ItemState.DONE), version, None, None, result.ended_at


def _event(result: Result, position: int | None = None) -> Event:
    """One event per attempt; log lines are rendered from its data. `position` is that of the item
    that ended."""
    outcome = result.outcome
    data: dict[str, Any] = {"url": result.visit.url, "ms": result.ended_at - result.started_at}
    data |= {"position": position} if position is not None else {}
    match outcome:
        case Fetched():
            data["status"], data["bytes"] = outcome.status, outcome.wire_bytes
            _add_extracted(data, result)
        case NotModified():
            data |= {"status": outcome.status}
        case Moved():
            data |= {"status": outcome.status, "to": outcome.url}
        case Again():
            pass
        case Failed():
            data |= {"kind": outcome.kind, "error": outcome.error, "status": outcome.status}
            data |= {"bytes": outcome.wire_bytes} if outcome.wire_bytes is not None else {}
            data |= {"lines": result.lines} if result.lines else {}
    if result.again_at is not None:
        if isinstance(outcome, Failed) and not result.spends_attempt:  # the whole source rests
            data["rests"] = True
        data |= {"again_at": rfc3339(result.again_at), "again_ms": result.again_at}
        name = "retried" if isinstance(outcome, Failed) else outcome_name(outcome)
        return Event(f"page_{name}", result.visit.page_id, data)
    failed = isinstance(outcome, Failed)
    return Event(f"page_{outcome_name(outcome)}", result.visit.page_id, data,
                 done=int(not failed), failed=int(failed))  # fmt: skip


def _add_extracted(data: dict[str, Any], result: Result) -> None:
    if result.robots_allowed:
        data["robots"] = True
    if result.document is not None:
        data["scraper"], data["record"] = result.visit.scraper, result.document.bytes
    if result.lines:
        data["lines"] = result.lines
    if result.links is not None:
        data["links"] = len(result.links)
