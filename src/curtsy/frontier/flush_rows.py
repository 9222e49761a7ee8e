"""Writes the rows of a flush. All of them depend on the turn of the visit.

A result counts if its visit could be ended or postponed at the turn of the result. A repeated flush
finds another turn, or no visit, and does nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from curtsy.frontier.batch import Result, outcome_name
from curtsy.frontier.ranks import VirtualTimes, carried_over, virtual_times
from curtsy.model.outcome import Again, Failed, Fetched, Moved, NotModified
from curtsy.store import Call, Connection, Statement
from curtsy.store.dialects import Sqlite

_TURN = {"page_id": "bigint", "turn": "bigint"}

_LOCK_PAGES = Statement(
    """
    SELECT id, document_version, document_hash, retry_count FROM pages
    WHERE id IN (SELECT page_id FROM {wanted}) ORDER BY host, fingerprint {lock}
    """,
    wanted={"page_id": "bigint"},
)
_END_VISITS = Statement(
    """
    DELETE FROM visits WHERE (page_id, turn) IN (SELECT page_id, turn FROM {ended})
      AND (NOT links OR (page_id, turn) IN (SELECT page_id, turn FROM {followed}))
    RETURNING page_id, turn
    """,
    ended=_TURN,
    followed=_TURN,
)
_POSTPONE_VISITS = Statement(
    """
    UPDATE visits SET turn = visits.turn + 1, due_at = p.due_at,
        attempt = visits.attempt + p.spent, refused = visits.refused + p.refused,
        priority = {least}(visits.priority, p.priority),
        source_id = coalesce(p.source_id, visits.source_id), rank = coalesce(p.rank, visits.rank),
        hops = visits.hops + p.hop,
        current_url = coalesce(p.url, visits.current_url),
        progress = coalesce(p.progress, visits.progress),
        repeats = CASE WHEN p.hop = 1 THEN p.repeats ELSE visits.repeats END
    FROM (SELECT * FROM {postponed}) p
    WHERE visits.page_id = p.page_id AND visits.turn = p.turn
    RETURNING visits.page_id, visits.turn - 1 AS turn
    """,
    postponed=_TURN
    | {"due_at": "bigint", "spent": "smallint", "refused": "smallint", "priority": "smallint",
       "source_id": "bigint", "rank": "bigint", "hop": "smallint", "url": "text",
       "progress": "text", "repeats": "bool"},
)  # fmt: skip
_UPDATE_PAGES = Statement(
    """
    UPDATE pages SET turn = r.turn, outcome = coalesce(r.outcome, pages.outcome), kind = r.kind,
        error = r.error, retry_count = r.retry_count, checked_at = :now,
        fetched_at = coalesce(r.fetched_at, pages.fetched_at),
        etag = CASE WHEN r.outcome = 'fetched' THEN r.etag ELSE pages.etag END,
        last_modified = CASE WHEN r.outcome = 'fetched' THEN r.last_modified
                             ELSE pages.last_modified END,
        wire_bytes = coalesce(r.wire_bytes, pages.wire_bytes),
        document_version = r.document_version,
        document_hash = coalesce(r.document_hash, pages.document_hash)
    FROM (SELECT * FROM {results}) r WHERE pages.id = r.page_id
    """,
    results=_TURN
    | {"outcome": "text", "kind": "text", "error": "text", "retry_count": "int",
       "fetched_at": "bigint", "etag": "text", "last_modified": "text", "wire_bytes": "bigint",
       "document_version": "int", "document_hash": "text"},
)  # fmt: skip
_INSERT_ATTEMPTS = Statement(
    """
    INSERT INTO attempts (page_id, turn, source_id, worker, attempt, url, outcome, kind, status,
                          bytes, memory, error, traceback, started_at, ended_at)
    SELECT page_id, turn, source_id, :worker, attempt, url, outcome, kind, status,
           bytes, memory, error, traceback, started_at, ended_at FROM {new} WHERE true
    """,
    new=_TURN
    | {"source_id": "bigint", "attempt": "smallint", "url": "text", "outcome": "text",
       "kind": "text", "status": "smallint", "bytes": "bigint", "memory": "bigint", "error": "text",
       "traceback": "text", "started_at": "bigint", "ended_at": "bigint"},
)  # fmt: skip
_INSERT_DOCUMENTS = Statement(
    """
    INSERT INTO documents (page_id, version, content, hash, content_type, charset, status, url,
                           bytes, fetched_at)
    SELECT page_id, version, content, hash, content_type, charset, status, url, bytes, fetched_at
    FROM {new} WHERE true
    """,
    new={"page_id": "bigint", "version": "int", "content": "bytea", "hash": "text",
         "content_type": "text", "charset": "text", "status": "smallint", "url": "text",
         "bytes": "bigint", "fetched_at": "bigint"},
)  # fmt: skip


class LockedPage(NamedTuple):
    id: int
    document_version: int
    document_hash: str | None
    retry_count: int
    """Requests of the waiting visit that failed; without a visit, the retries of the last one."""

    def failed_before(self, result: Result) -> int:
        """Requests of the result's visit that failed before. A visit at its first turn, which was
        never postponed, has none."""
        return self.retry_count if result.visit.due_at is not None else 0


def lock_pages(connection: Connection, page_ids: Sequence[int]) -> dict[int, LockedPage]:
    """Locks pages and returns them by id. Every transaction that adds, ends or deletes items locks
    their pages first and reads the items afterwards."""
    if not page_ids:
        return {}
    rows = _LOCK_PAGES(connection, wanted=[(i,) for i in page_ids]).tuples()
    return {row[0]: LockedPage._make(row) for row in rows}


def move_visits(
    connection: Connection, results: Sequence[Result], source_of: Mapping[str, int]
) -> list[Result]:
    """Ends or postpones the visits; returns the results that count. If several results have the
    same page, as after a change of owner, at most one counts."""
    ended = [r for r in results if r.again_at is None]
    continued = [r for r in results if r.again_at is not None]
    over = _end_visits(connection, ended)
    continued += [_visit_again(r) for r in ended if _turn(r) not in over and not _ends_for_all(r)]
    moved = {r.visit.source_id for r in continued if r.moved_to_host}
    times = virtual_times(connection, {*source_of.values(), *moved}) if moved else {}
    postponed = [_postponed(r, source_of, times) for r in continued]
    moved_on = _POSTPONE_VISITS(connection, postponed=postponed) if postponed else ()
    later = {(row.page_id, row.turn) for row in moved_on}
    return [r for r in ended if _turn(r) in over] + [r for r in continued if _turn(r) in later]


def _turn(result: Result) -> tuple[int, int]:
    return result.visit.page_id, result.visit.turn


def _end_visits(connection: Connection, ended: Sequence[Result]) -> set[tuple[int, int]]:
    """Deletes the visits and returns their pages and turns. A visit stays if a job wants the links
    of the page but the result has none, since the job joined after the request."""
    if not ended:
        return set()
    turns = [_turn(r) for r in ended]
    followed = [_turn(r) for r in ended if _ends_for_all(r)]
    rows = _END_VISITS(connection, ended=turns, followed=followed).tuples()
    return {(page_id, turn) for page_id, turn in rows}


def _ends_for_all(result: Result) -> bool:
    """The result ends the visit also for jobs that follow links."""
    return result.links is not None or isinstance(result.outcome, Failed)


def _visit_again(result: Result) -> Result:
    again = Again(result.ended_at, result.visit.progress)
    return replace(result, outcome=again, again_at=result.ended_at, document=None)


def _postponed(
    result: Result, source_of: Mapping[str, int], times: VirtualTimes
) -> tuple[Any, ...]:
    visit, outcome = result.visit, result.outcome
    to = source_of[result.moved_to_host] if result.moved_to_host else visit.source_id
    place = carried_over(visit.rank, visit.priority, times, here=visit.source_id, there=to)
    return (
        visit.page_id, visit.turn, result.again_at, int(result.spends_attempt), int(result.refused),
        min(visit.priority, 3) if result.spends_attempt else visit.priority,
        *((None, None) if to == visit.source_id else (to, place)),
        int(isinstance(outcome, Moved)), outcome.url if isinstance(outcome, Moved) else None,
        outcome.progress if isinstance(outcome, Again | Moved) else None,
        isinstance(outcome, Moved) and outcome.repeats,
    )  # fmt: skip


NewDocument = tuple[Any, ...]
"""A row with the columns of `_INSERT_DOCUMENTS`, in order."""


def new_versions(
    results: Sequence[Result], pages: Mapping[int, LockedPage]
) -> tuple[dict[int, int], list[NewDocument]]:
    """Returns the current version of every page, and a new document for each page whose content
    changed."""
    versions = {page_id: page.document_version for page_id, page in pages.items()}
    new = []
    for r in results:
        if r.document is None or not isinstance(r.outcome, Fetched):
            continue
        page = pages[r.visit.page_id]
        if page.document_hash != r.document.hash:
            versions[page.id] += 1
            new.append((
                page.id, versions[page.id], r.document.content, r.document.hash,
                r.document.content_type, r.document.charset, r.outcome.status, r.outcome.url,
                r.document.bytes, r.ended_at,
            ))  # fmt: skip
    return versions, new


def page_call(
    results: Sequence[Result], pages: Mapping[int, LockedPage], versions: Mapping[int, int], *,
    now: int,
) -> Call:  # fmt: skip
    rows = []
    for r in results:
        kind, error = _kind_and_error(r)
        known = isinstance(r.outcome, Fetched | NotModified)
        fetched = r.outcome if isinstance(r.outcome, Fetched) else None
        rows.append((
            r.visit.page_id, r.visit.turn,
            outcome_name(r.outcome) if known or isinstance(r.outcome, Failed) else None,
            kind, error, _retry_count(r, pages[r.visit.page_id]), r.ended_at if known else None,
            fetched and fetched.etag, fetched and fetched.last_modified,
            fetched and fetched.wire_bytes, versions[r.visit.page_id],
            r.document and r.document.hash,
        ))  # fmt: skip
    return _UPDATE_PAGES, {"results": rows, "now": now}


def _retry_count(result: Result, page: LockedPage) -> int:
    """The retries of the visit: while it waits, with the one that it waits for."""
    failed = page.failed_before(result)
    if result.again_at is None:
        return max(0, failed + result.requested - 1)
    return failed + (result.requested and isinstance(result.outcome, Failed))


def attempt_call(
    results: Sequence[Result], pages: Mapping[int, LockedPage], *, worker: str
) -> Call:
    rows = []
    for r in results:
        if r.no_request:
            continue
        kind, error = _kind_and_error(r)
        fetched = r.outcome if isinstance(r.outcome, Fetched) else None
        rows.append((
            r.visit.page_id, r.visit.turn, r.visit.source_id,
            pages[r.visit.page_id].failed_before(r) + 1, r.visit.url,
            outcome_name(r.outcome), kind, getattr(r.outcome, "status", None),
            fetched and fetched.wire_bytes, getattr(r.outcome, "memory", None), error,
            getattr(r.outcome, "traceback", None), r.started_at, r.ended_at,
        ))  # fmt: skip
    return _INSERT_ATTEMPTS, {"new": rows, "worker": worker}


def _kind_and_error(result: Result) -> tuple[str | None, str | None]:
    if isinstance(result.outcome, Failed):
        return result.outcome.kind, result.outcome.error
    return None, None


def document_calls(rows: Sequence[NewDocument]) -> list[Call]:
    """Returns calls that insert the rows, as many at a time as SQLite takes as values: JSON cannot
    carry bytes."""
    most = Sqlite.MOST_VALUES
    parts = [rows[start : start + most] for start in range(0, len(rows), most)]
    return [(_INSERT_DOCUMENTS, {"new": part}) for part in parts]
