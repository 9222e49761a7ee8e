"""What the screens of jobs read: a fixed number of statements each, whatever there is."""

from collections.abc import Mapping, Sequence
from typing import Any

from curtsy.api.words import Filter
from curtsy.errors import NotFound
from curtsy.model.jobs import JobState
from curtsy.store import Connection, Lookup, Statement

TOTAL_CAP = 1_000
"""Counting further would cost more the more jobs there are."""
SEARCHED = 10_000
"""Of so many jobs, the newest that fit the rest of the question, names are looked through."""
Place = tuple[int, int]
"""When a job was made, and its number: its place in the list."""
FIRST: Place = (2**62, 2**62)
Tagged = tuple[Any, list[str]]
"""A job and its tags."""

_JOB = """
    SELECT j.id, j.public_id, j.door, j.state, j.total, j.done, j.failed, j.cancelled, j.cached,
           j.name, j.paused_at, j.created_at, j.updated_at, j.finished_at, j.round,
           j.last_event, j.started_at, j.scraper, j.user_id,
           coalesce(i.url, p.url) AS url, i.error
    FROM {jobs} JOIN items i ON i.job_id = j.id AND i.position = 0
    JOIN pages p ON p.id = i.page_id
    """
_NAMED = Statement(
    _JOB.format(jobs="(SELECT job FROM {wanted}) w JOIN jobs j ON j.public_id = w.job"),
    wanted={"job": "text"},
)
_LISTED = _JOB.format(jobs="(SELECT id FROM {wanted}) w JOIN jobs j ON j.id = w.id")
_SHOWN = Statement(
    f"{_LISTED} ORDER BY j.created_at DESC, j.id DESC",
    wanted={"id": "bigint"},
)
_CONTENT = Statement(
    """
    SELECT i.fetched_at, d.content, d.content_type, d.charset, d.bytes
    FROM items i LEFT JOIN documents d ON d.page_id = i.page_id AND d.version = i.document_version
    WHERE i.job_id = :job_id AND i.position = 0
    """
)
_BEFORE = "(j.created_at, j.id) < (CAST(:at AS bigint), CAST(:id AS bigint))"
_NEWEST_FIRST = "ORDER BY j.created_at DESC, j.id DESC LIMIT :most"
_NEWEST = Statement(
    f"SELECT j.id, j.created_at, j.name FROM jobs j WHERE {_BEFORE} {_NEWEST_FIRST}"  # noqa: S608
)
# Of one state only, but said as a range: of an equality PostgreSQL knows that it orders nothing,
# and may then look for a rare state through all jobs by age.
_IN_STATE = Lookup(
    """
    SELECT j.id, j.created_at, j.name FROM jobs j
    WHERE j.state >= {each_state}
      AND (j.state, j.created_at, j.id) < ({each_state}, CAST(:at AS bigint), CAST(:id AS bigint))
    ORDER BY j.state DESC, j.created_at DESC, j.id DESC LIMIT :most
    """,
    each={"state": "text"},
)
_FAILED = {
    with_success: Statement(
        f"""
        SELECT j.id, j.created_at, j.name FROM jobs j
        WHERE j.state = 'failed' AND {done} AND {_BEFORE} {_NEWEST_FIRST}
        """  # noqa: S608
    )
    for with_success, done in {True: "j.done > 0", False: "j.done = 0"}.items()
}
_WITH_TAG = Statement(
    """
    SELECT j.id, j.created_at, j.name, j.state, j.done
    FROM job_tags t JOIN jobs j ON j.id = t.job_id
    WHERE t.tag = :tag AND t.job_id < CAST(:id AS bigint) ORDER BY t.job_id DESC LIMIT :most
    """
)
_OF_USER = Statement(
    f"""
    SELECT j.id, j.created_at, j.name, j.state, j.done FROM jobs j
    WHERE j.user_id = :user AND j.created_at <= CAST(:at AS bigint) AND {_BEFORE} {_NEWEST_FIRST}
    """  # noqa: S608
)
_COUNT_OF_USER = Statement(
    "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE user_id = :user LIMIT :most) AS counted"
)
_COUNT = Statement(
    """
    SELECT count(*) FROM (
        SELECT 1 FROM jobs ORDER BY created_at DESC, id DESC LIMIT :most) AS counted
    """
)
_COUNT_IN_STATE = Lookup(
    """
    SELECT count(*) AS counted
    FROM (SELECT 1 FROM jobs j WHERE j.state >= {each_state}
            AND (j.state, j.created_at, j.id)
                < ({each_state}, CAST(:at AS bigint), CAST(:id AS bigint))
          ORDER BY j.state DESC, j.created_at DESC, j.id DESC LIMIT :most) AS found_jobs
    """,
    each={"state": "text"},
)
_COUNT_FAILED = {
    with_success: Statement(
        f"""
        SELECT count(*) FROM (
            SELECT 1 FROM jobs WHERE state = 'failed' AND {done} LIMIT :most) AS found_jobs
        """  # noqa: S608
    )
    for with_success, done in {True: "done > 0", False: "done = 0"}.items()
}
_TAGS = Statement(
    "SELECT t.job_id, t.tag FROM {wanted} JOIN job_tags t ON t.job_id = wanted.id ORDER BY t.tag",
    wanted={"id": "bigint"},
)
_LIVE_WORKERS = Statement("SELECT count(*) FROM workers WHERE lease_until > :now")


def read_jobs(connection: Connection, jobs: Sequence[str]) -> Mapping[str, Tagged]:
    """Those of the jobs that there are, each with its first item."""
    rows = list(_NAMED(connection, wanted=[(job,) for job in set(jobs)]))
    tags = _tags_of(connection, [row.id for row in rows])
    return {row.public_id: (row, tags[row.id]) for row in rows}


def read_whole(connection: Connection, job: str) -> tuple[Any, list[str], Any]:
    """The job, its tags, and if it is of the fetch door the document of its one item."""
    found = read_jobs(connection, [job]).get(job)
    if found is None:
        raise NotFound("job", job)
    row, tags = found
    return row, tags, _CONTENT(connection, job_id=row.id).one() if row.door == "fetch" else None


def _tags_of(connection: Connection, job_ids: Sequence[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {job_id: [] for job_id in job_ids}
    for row in _TAGS(connection, wanted=[(i,) for i in job_ids]) if job_ids else ():
        found[row.job_id].append(row.tag)
    return found


def list_jobs(
    connection: Connection, *, user: str | None, wanted: Filter | None, tag: str | None,
    q: str | None, after: Place, limit: int, skip: int,
) -> tuple[list[Tagged], int, Place | None]:  # fmt: skip
    """A page of the list with tags, newest first; how many there are, counted up to one over the
    cap; and where the next page begins. With a user, of that one's alone."""
    filters = sum(said is not None for said in (user, wanted, tag))
    most = SEARCHED if q is not None or filters > 1 else skip + limit + 1
    if user is not None:
        found = _own_candidates(connection, user, wanted, tag, after, most)
    else:
        found = _candidates(connection, wanted, tag, after, most)
    if q is not None:
        found = [row for row in found if q.lower() in (row.name or "").lower()]
    page = found[skip : skip + limit]
    more = len(found) > skip + limit
    total = len(found) + (after == FIRST and more)
    if tag is None and q is None and (user is None or wanted is None):
        total = _total(connection, user, wanted)
    shown = list(_SHOWN(connection, wanted=[(row.id,) for row in page])) if page else []
    tags = _tags_of(connection, [row.id for row in shown])
    listed = [(row, tags[row.id]) for row in shown]
    return listed, total, (page[-1].created_at, page[-1].id) if more else None


def live_workers(connection: Connection, *, now: int) -> int:
    return int(_LIVE_WORKERS(connection, now=now).scalar_one())


def _candidates(
    connection: Connection, wanted: Filter | None, tag: str | None, after: Place, most: int
) -> list[Any]:
    at, number = after
    if tag is not None:
        rows = _WITH_TAG(connection, tag=tag, id=number, most=most)
        return [row for row in rows if wanted is None or _fits(row, wanted)]
    if wanted is None:
        return list(_NEWEST(connection, at=at, id=number, most=most))
    found = _IN_STATE(connection, _whole_states(wanted), at=at, id=number, most=most)
    if wanted.failed_with_success is not None:
        part = _FAILED[wanted.failed_with_success]
        found += part(connection, at=at, id=number, most=most)
    return sorted(found, key=lambda row: (row.created_at, row.id), reverse=True)[:most]


def _own_candidates(
    connection: Connection, user: str, wanted: Filter | None, tag: str | None, after: Place,
    most: int,
) -> list[Any]:  # fmt: skip
    at, number = after
    rows = list(_OF_USER(connection, user=user, at=at, id=number, most=most))
    if wanted is not None:
        rows = [row for row in rows if _fits(row, wanted)]
    if tag is not None:
        tags = _tags_of(connection, [row.id for row in rows])
        rows = [row for row in rows if tag in tags[row.id]]
    return rows


def _total(connection: Connection, user: str | None, wanted: Filter | None) -> int:
    if user is not None:
        return int(_COUNT_OF_USER(connection, user=user, most=TOTAL_CAP + 1).scalar_one())
    if wanted is None:
        return int(_COUNT(connection, most=TOTAL_CAP + 1).scalar_one())
    at, number = FIRST
    states = _whole_states(wanted)
    rows = _COUNT_IN_STATE(connection, states, at=at, id=number, most=TOTAL_CAP + 1)
    total = sum(row.counted for row in rows)
    if wanted.failed_with_success is not None:
        part = _COUNT_FAILED[wanted.failed_with_success]
        total += part(connection, most=TOTAL_CAP + 1).scalar_one()
    return int(total)


def _whole_states(wanted: Filter) -> list[tuple[str]]:
    """Those of which every job is meant."""
    in_part = {JobState.FAILED} if wanted.failed_with_success is not None else set()
    return [(str(state),) for state in wanted.states if state not in in_part]


def _fits(row: Any, wanted: Filter) -> bool:
    if row.state not in wanted.states:
        return False
    if row.state != JobState.FAILED or wanted.failed_with_success is None:
        return True
    return bool(row.done) == wanted.failed_with_success
