"""Records that runs of sites found, and what became of each since: new, changed, same, removed."""

from collections.abc import Mapping, Set
from typing import Any

import orjson

from curtsy.jobs.job import mark_gathered
from curtsy.model.jobs import JobState
from curtsy.sites.run_pages import Records, RunPages, hash_of, is_whole, records_of
from curtsy.store import Connection, Lookup, Statement

SITES_AT_ONCE = 20
MOST_GONE = 1_000
"""That the answer about a run tells of."""

_WAITING = Statement(
    """
    SELECT DISTINCT s.name FROM jobs j JOIN sites s ON s.id = j.site_id
    WHERE j.site_id IS NOT NULL AND j.gathered_at IS NULL AND j.finished_at IS NOT NULL LIMIT :most
    """
)
_LOCK_SITE = Statement("SELECT id FROM sites WHERE name = :name {lock}")
_NEXT_RUN = Statement(
    """
    SELECT id, public_id, state, search, failed, total, finished_at FROM jobs
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
_BEFORE = Statement(  # a run that was made before; its failures may have been retried since
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
_LAST_TOLD = Lookup(
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
_REMOVED = Statement(
    """
    INSERT INTO sightings (job_id, key, position, change, data)
    SELECT :job_id, s.key, :after + row_number() OVER (ORDER BY s.position), 'removed', s.data
    FROM sightings s WHERE s.job_id = :before AND s.change <> 'removed'
      AND NOT EXISTS (SELECT 1 FROM sightings n WHERE n.job_id = :job_id AND n.key = s.key)
    """
)
_KEEP = Statement(
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
_SEE = Statement(
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
_CANCELLED = Statement(
    """
    SELECT data FROM events WHERE job_id = :job_id AND name = 'job_cancelled'
    ORDER BY n DESC LIMIT 1
    """
)
_FOUND = Statement(
    """
    SELECT key, change, data FROM sightings WHERE job_id = :job_id AND change <> 'removed'
    ORDER BY position, key LIMIT :most
    """
)
_GONE = Statement(
    """
    SELECT key, change, data FROM sightings WHERE job_id = :job_id AND change = 'removed'
    ORDER BY position, key LIMIT :most
    """
)
_LAST_PLACE = Statement("SELECT max(position) FROM sightings WHERE job_id = :job_id")
_SIGHTED = Statement("SELECT key FROM sightings WHERE job_id = :job_id AND change <> 'removed'")
_BACK_AGAIN = Statement(
    """
    DELETE FROM sightings WHERE job_id = :job_id AND change = 'removed'
      AND key IN (SELECT key FROM {found})
    """,
    found={"key": "text"},
)
_CHANGES = Statement(
    "SELECT change, count(*) AS number FROM sightings WHERE job_id = :job_id GROUP BY change"
)
_OF_SITE = Statement(
    """
    SELECT key, data, first_seen_at, last_seen_at, changed_at FROM records
    WHERE site_id = :site_id AND key > :after ORDER BY key LIMIT :most
    """
)

CHANGES = ("new", "changed", "same", "removed")


def sites_to_gather(connection: Connection) -> list[str]:
    return list(_WAITING(connection, most=SITES_AT_ONCE).scalars())


def gather_next(connection: Connection, site: str, *, now: int) -> tuple[str, str] | None:
    """The first of the site's runs that ended and was not compared yet: it is compared with what
    was there before it. Returns its name and how it ended; None: there is none. One in each
    transaction, since it writes all records of a run."""
    site_id = _LOCK_SITE(connection, name=site).scalar()
    run = _NEXT_RUN(connection, site_id=site_id).one_or_none() if site_id is not None else None
    if site_id is None or run is None:
        return None
    _gather_run(connection, int(site_id), run, now)
    return run.public_id, run.state


def _gather_run(connection: Connection, site_id: int, run: Any, now: int) -> None:
    """A run whose failures were retried is gathered again: what was told of it stays as it was."""
    told = set(_SIGHTED(connection, job_id=run.id).scalars())
    search = {"site_id": site_id, "search": run.search, "job_id": run.id}
    last = _BEFORE(connection, in_part=True, **search).scalar()
    there = set(_SIGHTED(connection, job_id=last).scalars()) if last is not None else set()
    pages = RunPages()
    for some in records_of(connection, run.id, pages):
        changes = _compared(connection, some, there, search)
        _keep(connection, some, search, now)
        place = _next_place(connection, run.id)
        fresh = [(key, data) for key, data in some if key not in told]
        if fresh:
            seen = [(key, place + n, changes[key], data) for n, (key, data) in enumerate(fresh)]
            _SEE(connection, job_id=run.id, seen=seen)
    if run.state == JobState.SUCCEEDED and is_whole(connection, run.id, pages):
        _call_removed(connection, search)
    message = _message(connection, run, changes_of(connection, run.id), pages)
    mark_gathered(connection, run.id, message, now=now)


def _compared(
    connection: Connection, some: Records, there: Set[str], search: Mapping[str, Any]
) -> dict[str, str]:
    """By key, what became of each record. `there`: the last run of the search saw it."""
    wanted = [(key,) for key, _data in some]
    rows = _KNOWN(connection, wanted=wanted, site_id=search["site_id"])
    known = {row.key: row.hash for row in rows}
    absent = [(key,) for key in known if key not in there]
    gone = {row.key for row in _LAST_TOLD(connection, absent, **search) if row.change == "removed"}
    return {key: _change(known.get(key), data) if key not in gone else "new" for key, data in some}


def _change(before: str | None, data: str) -> str:
    if before is None:
        return "new"
    return "same" if before == hash_of(data) else "changed"


def _keep(connection: Connection, some: Records, search: Mapping[str, Any], now: int) -> None:
    """As they were last seen: what a later run has seen of them stays."""
    site_id, job_id = search["site_id"], search["job_id"]
    wanted = [(key,) for key, _data in some]
    later = set(_SEEN_LATER(connection, wanted=wanted, site_id=site_id, job_id=job_id).scalars())
    kept = [(key, data, hash_of(data)) for key, data in some if key not in later]
    if kept:
        _KEEP(connection, site_id=site_id, found=kept, now=now)
    _BACK_AGAIN(connection, job_id=job_id, found=wanted)


def _next_place(connection: Connection, job_id: int) -> int:
    last = _LAST_PLACE(connection, job_id=job_id).scalar()
    return 0 if last is None else int(last) + 1


def _call_removed(connection: Connection, search: Mapping[str, Any]) -> None:
    """What the last whole run of the same search saw and this one, which saw all there is, did
    not. A later run that was compared already knows better."""
    before = _BEFORE(connection, in_part=False, **search).scalar()
    if before is not None and _AFTER(connection, **search).scalar() is None:
        job_id = search["job_id"]
        after = _next_place(connection, job_id) - 1
        _REMOVED(connection, job_id=job_id, before=before, after=after)


def _message(connection: Connection, run: Any, changes: Mapping[str, int], pages: RunPages) -> str:
    numbers = ", ".join(f"{changes[change]} {change}" for change in CHANGES)
    sentence = f"{sum(changes.values()) - changes['removed']} records: {numbers}."
    error = _FIRST_ERROR(connection, job_id=run.id).scalar() if run.failed else None
    if error:
        sentence = f"{sentence} {run.failed} of {run.total} pages failed: {error}"
    if pages.unreadable:
        sentence = (
            f"{sentence} What {pages.unreadable} of {run.total} pages brought cannot be read."
        )
    if pages.has_more:
        sentence = f"{sentence} There were more than {len(pages.keys)}: the rest was left out."
    reason = _reason(connection, run.id) if run.state == JobState.CANCELLED else None
    return f"{reason} {sentence}" if reason else sentence


def _reason(connection: Connection, job_id: int) -> str | None:
    """Why it was cancelled, if nobody asked for that."""
    told = _CANCELLED(connection, job_id=job_id).scalar()
    return orjson.loads(told).get("reason") if told else None


def sightings(connection: Connection, job_id: int, *, most: int) -> list[dict[str, Any]]:
    """What a run found, so many of it, and what is gone since the run before."""
    rows = [*_FOUND(connection, job_id=job_id, most=most),
            *_GONE(connection, job_id=job_id, most=MOST_GONE)]  # fmt: skip
    return [orjson.loads(row.data) | {"_change": row.change, "_key": row.key} for row in rows]


def changes_of(connection: Connection, job_id: int) -> dict[str, int]:
    counted = {row.change: int(row.number) for row in _CHANGES(connection, job_id=job_id)}
    return {change: counted.get(change, 0) for change in CHANGES}


def records_of_site(connection: Connection, site_id: int, *, after: str, most: int) -> list[Any]:
    return list(_OF_SITE(connection, site_id=site_id, after=after, most=most))
