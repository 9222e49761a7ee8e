"""Compares the records of a run with those before: new, changed, same or removed; lists records."""

from collections.abc import Mapping, Set
from typing import Any, NamedTuple

import orjson

from curtsy.jobs.job import mark_gathered
from curtsy.model.counts import counted
from curtsy.model.job_states import JobState
from curtsy.sites.run_pages import Records, RunPages, crawl_limit, records_of
from curtsy.sites.runs import wanted_by
from curtsy.store import Connection, Lookup, Statement

SITES_AT_ONCE = 20
MOST_REMOVED = 1_000
"""Removed records in the answer about a run."""
CHANGES = ("new", "changed", "same", "removed")

_SITES_TO_GATHER = Statement(
    """
    SELECT DISTINCT s.name FROM jobs j JOIN sites s ON s.id = j.site_id
    WHERE j.site_id IS NOT NULL AND j.gathered_at IS NULL AND j.finished_at IS NOT NULL LIMIT :most
    """
)
_LOCK_SITE = Statement("SELECT id FROM sites WHERE name = :name {lock}")
_NEXT_RUN = Statement(
    """
    SELECT id, public_id, state, search, failed, total, finished_at, params FROM jobs
    WHERE site_id = :site_id AND site_id IS NOT NULL AND gathered_at IS NULL
      AND finished_at IS NOT NULL ORDER BY finished_at, id LIMIT 1
    """
)
_KNOWN = Statement(
    "SELECT r.key, r.hash FROM {wanted} JOIN records r ON r.key = wanted.key "
    "WHERE r.site_id = :site_id",
    wanted={"key": "text"},
)
_OF_SEARCH = "site_id = :site_id AND site_id IS NOT NULL AND search = :search"
_BEFORE = Statement(  # by creation: a retry may have ended an earlier run later
    f"""
    SELECT id FROM jobs WHERE {_OF_SEARCH} AND gathered_at IS NOT NULL AND id < :job_id
      AND (state = 'succeeded' OR :in_part) ORDER BY created_at DESC LIMIT 1
    """  # noqa: S608
)
_AFTER = Statement(
    f"""
    SELECT id FROM jobs WHERE {_OF_SEARCH} AND gathered_at IS NOT NULL AND id > :job_id LIMIT 1
    """  # noqa: S608
)
_LAST_CHANGE = Lookup(
    """
    SELECT s.key, s.change FROM jobs j JOIN sightings s ON s.job_id = j.id AND s.key = {each_key}
    WHERE j.site_id = :site_id AND j.site_id IS NOT NULL AND j.search = :search AND j.id < :job_id
    ORDER BY j.created_at DESC LIMIT 1
    """,
    each={"key": "text"},
)
_SEEN_LATER = Statement(
    """
    SELECT wanted.key FROM {wanted} WHERE EXISTS (
        SELECT 1 FROM jobs j JOIN sightings s ON s.job_id = j.id AND s.key = wanted.key
        WHERE j.site_id = :site_id AND j.site_id IS NOT NULL AND j.id > :job_id
          AND s.change <> 'removed')
    """,
    wanted={"key": "text"},
)
_INSERT_REMOVED = Statement(
    """
    INSERT INTO sightings (job_id, key, position, change, data)
    SELECT :job_id, s.key, :after + row_number() OVER (ORDER BY s.position), 'removed', s.data
    FROM sightings s WHERE s.job_id = :before AND s.change <> 'removed'
      AND NOT EXISTS (SELECT 1 FROM sightings n WHERE n.job_id = :job_id AND n.key = s.key)
    """
)
_UPSERT_RECORDS = Statement(
    """
    INSERT INTO records (site_id, key, data, hash, first_seen_at, last_seen_at, changed_at)
    SELECT :site_id, key, data, hash, :now, :now, :now FROM {found} WHERE true
    ON CONFLICT (site_id, key) DO UPDATE SET data = excluded.data, hash = excluded.hash,
        last_seen_at = excluded.last_seen_at,
        changed_at = CASE WHEN records.hash = excluded.hash THEN records.changed_at
                          ELSE excluded.changed_at END
    """,
    found={"key": "text", "data": "text", "hash": "text"},
)
_INSERT_SIGHTINGS = Statement(
    """
    INSERT INTO sightings (job_id, key, position, change, data)
    SELECT :job_id, key, position, change, data FROM {seen} WHERE true
    ON CONFLICT (job_id, key) DO NOTHING
    """,
    seen={"key": "text", "position": "int", "change": "text", "data": "text"},
)
_FIRST_ERROR = Statement(
    "SELECT error FROM items WHERE job_id = :job_id AND state = 2 ORDER BY position LIMIT 1"
)
_CANCEL_EVENT = Statement(
    """
    SELECT data FROM events WHERE job_id = :job_id AND name = 'job_cancelled'
    ORDER BY n DESC LIMIT 1
    """
)
_FOUND_IN_RUN = Statement(
    """
    SELECT key, change, data FROM sightings WHERE job_id = :job_id AND change <> 'removed'
    ORDER BY position, key LIMIT :most
    """
)
_REMOVED_OF_RUN = Statement(
    """
    SELECT key, change, data FROM sightings WHERE job_id = :job_id AND change = 'removed'
    ORDER BY position, key LIMIT :most
    """
)
_LAST_POSITION = Statement("SELECT max(position) FROM sightings WHERE job_id = :job_id")
_SIGHTED = Statement("SELECT key FROM sightings WHERE job_id = :job_id AND change <> 'removed'")
_DELETE_REMOVED = Statement(
    """
    DELETE FROM sightings WHERE job_id = :job_id AND change = 'removed'
      AND key IN (SELECT key FROM {found})
    """,
    found={"key": "text"},
)
_CHANGES = Statement(  # of the records that the run shows: as many as were wanted
    """
    SELECT change, count(*) AS number FROM (
        SELECT change FROM sightings WHERE job_id = :job_id AND change <> 'removed'
        ORDER BY position, key LIMIT :wanted) shown
    GROUP BY change
    UNION ALL
    SELECT 'removed', count(*) FROM sightings WHERE job_id = :job_id AND change = 'removed'
    """
)
_RECORDS = Statement(
    """
    SELECT key, data, first_seen_at, last_seen_at, changed_at FROM records
    WHERE site_id = :site_id AND key > :after ORDER BY key LIMIT :most
    """
)


class EndedRun(NamedTuple):
    """A run that has ended and was not compared yet."""

    id: int
    public_id: str
    state: str
    search: str
    failed: int
    total: int
    finished_at: int
    params: str
    """JSON."""


class GatheredRun(NamedTuple):
    run: str
    state: str


class StoredRecord(NamedTuple):
    """A record of a site as it was last seen."""

    key: str
    data: str
    """JSON"""
    first_seen_at: int
    last_seen_at: int
    changed_at: int


def sites_to_gather(connection: Connection) -> list[str]:
    return list(_SITES_TO_GATHER(connection, most=SITES_AT_ONCE).scalars())


def gather_next(connection: Connection, site: str, *, now: int) -> GatheredRun | None:
    """Compares the first ended run of the site that was not compared yet with the records before.
    Returns None if there is no such run. One run per transaction, since it writes all records of
    the run."""
    site_id = _LOCK_SITE(connection, name=site).scalar()
    row = _NEXT_RUN(connection, site_id=site_id).one_or_none() if site_id is not None else None
    if site_id is None or row is None:
        return None
    run = EndedRun._make(row)
    _gather_run(connection, int(site_id), run, now)
    return GatheredRun(run.public_id, run.state)


def _gather_run(connection: Connection, site_id: int, run: EndedRun, now: int) -> None:
    """Stores the records and sightings of a run. A run whose failures were retried is gathered
    again: its earlier sightings stay unchanged."""
    sighted = set(_SIGHTED(connection, job_id=run.id).scalars())
    search = {"site_id": site_id, "search": run.search, "job_id": run.id}
    last = _BEFORE(connection, in_part=True, **search).scalar()
    seen_before = set(_SIGHTED(connection, job_id=last).scalars()) if last is not None else set()
    pages = RunPages()
    for some in records_of(connection, run.id, pages):
        changes = _compare(connection, some, seen_before, search)
        _store_records(connection, some, search, now)
        position = _next_position(connection, run.id)
        fresh = [found for found in some if found.key not in sighted]
        if fresh:
            seen = [(found.key, position + n, changes[found.key], found.data)
                    for n, found in enumerate(fresh)]  # fmt: skip
            _INSERT_SIGHTINGS(connection, job_id=run.id, seen=seen)
    crawl, wanted = crawl_limit(connection, run.id), wanted_by(run.params)
    if run.state == JobState.SUCCEEDED and pages.are_all(crawl):
        _insert_removed(connection, search)
    counted = changes_of(connection, run.id, wanted=wanted)
    message = _message(connection, run, counted, pages, end=pages.end(crawl, wanted))
    mark_gathered(connection, run.id, message, now=now)


def _compare(
    connection: Connection, some: Records, seen_before: Set[str], search: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the change of each record, by key. `seen_before` are the keys that the last run of
    the search saw."""
    wanted = [(found.key,) for found in some]
    rows = _KNOWN(connection, wanted=wanted, site_id=search["site_id"])
    known = {row.key: row.hash for row in rows}
    absent = [(key,) for key in known if key not in seen_before]
    removed = {
        row.key for row in _LAST_CHANGE(connection, absent, **search) if row.change == "removed"
    }
    return {
        key: _change(known.get(key), new) if key not in removed else "new"
        for key, _data, new in some
    }


def _change(before: str | None, after: str) -> str:
    if before is None:
        return "new"
    return "same" if before == after else "changed"


def _store_records(
    connection: Connection, some: Records, search: Mapping[str, Any], now: int
) -> None:
    """Upserts the records, except those that a later run has seen."""
    site_id, job_id = search["site_id"], search["job_id"]
    wanted = [(found.key,) for found in some]
    later = set(_SEEN_LATER(connection, wanted=wanted, site_id=site_id, job_id=job_id).scalars())
    newest = [found for found in some if found.key not in later]
    if newest:
        _UPSERT_RECORDS(connection, site_id=site_id, found=newest, now=now)
    _DELETE_REMOVED(connection, job_id=job_id, found=wanted)


def _next_position(connection: Connection, job_id: int) -> int:
    last = _LAST_POSITION(connection, job_id=job_id).scalar()
    return 0 if last is None else int(last) + 1


def _insert_removed(connection: Connection, search: Mapping[str, Any]) -> None:
    """Marks records as removed that the last complete run of the same search saw and this complete
    run did not; not if a later run was compared already."""
    before = _BEFORE(connection, in_part=False, **search).scalar()
    if before is not None and _AFTER(connection, **search).scalar() is None:
        job_id = search["job_id"]
        after = _next_position(connection, job_id) - 1
        _INSERT_REMOVED(connection, job_id=job_id, before=before, after=after)


def _message(
    connection: Connection, run: EndedRun, changes: Mapping[str, int], pages: RunPages, *,
    end: str | None,
) -> str:  # fmt: skip
    numbers = ", ".join(f"{changes[change]} {change}" for change in CHANGES)
    sentence = f"{counted(sum(changes.values()) - changes['removed'], 'record')}: {numbers}."
    if end is not None and run.state in (JobState.SUCCEEDED, JobState.PARTIAL):
        sentence = f"{sentence} {end}"
    error = _FIRST_ERROR(connection, job_id=run.id).scalar() if run.failed else None
    if error:
        sentence = f"{sentence} {run.failed} of {counted(run.total, 'page')} failed: {error}"
    if pages.unreadable:
        sentence = (
            f"{sentence} The content of {pages.unreadable} of {counted(run.total, 'page')} cannot "
            "be parsed."
        )
    if pages.has_more:
        sentence = (
            f"{sentence} The run found more than {len(pages.keys)}: the others are not stored."
        )
    reason = _reason(connection, run.id) if run.state == JobState.CANCELLED else None
    return f"{reason} {sentence}" if reason else sentence


def _reason(connection: Connection, job_id: int) -> str | None:
    """Returns why the run was cancelled, unless a caller requested that."""
    data = _CANCEL_EVENT(connection, job_id=job_id).scalar()
    return orjson.loads(data).get("reason") if data else None


def sightings(connection: Connection, job_id: int, *, most: int) -> list[dict[str, Any]]:
    """Returns at most `most` records that a run found, and those removed since the run before."""
    rows = [*_FOUND_IN_RUN(connection, job_id=job_id, most=most),
            *_REMOVED_OF_RUN(connection, job_id=job_id, most=MOST_REMOVED)]  # fmt: skip
    return [orjson.loads(row.data) | {"_change": row.change, "_key": row.key} for row in rows]


def changes_of(connection: Connection, job_id: int, *, wanted: int) -> dict[str, int]:
    """Counts the changes among the records that were wanted, and what was removed."""
    rows = _CHANGES(connection, job_id=job_id, wanted=wanted)
    counted = {row.change: int(row.number) for row in rows}
    return {change: counted.get(change, 0) for change in CHANGES}


def records_of_site(
    connection: Connection, site_id: int, *, after: str, most: int
) -> list[StoredRecord]:
    rows = _RECORDS(connection, site_id=site_id, after=after, most=most)
    return [StoredRecord._make(row) for row in rows]
