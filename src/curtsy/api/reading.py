"""What the screens of jobs read: a fixed number of statements each, whatever there is."""

from collections.abc import Sequence
from typing import Any

from curtsy.api.words import Filter
from curtsy.errors import NotFound
from curtsy.model.jobs import JobState
from curtsy.store import Connection, Lookup, Statement

TOTAL_CAP = 10_000
SEARCHED = 10_000
"""Of so many jobs, the newest that fit the rest of the question, names are looked through."""
Place = tuple[int, int]
"""When a job was made, and its number: its place in the list."""
FIRST: Place = (2**62, 2**62)

_JOB = """
    SELECT j.id, j.public_id, j.door, j.state, j.total, j.done, j.failed, j.cancelled, j.cached,
           j.name, j.paused_at, j.created_at, j.updated_at, j.finished_at, j.round,
           coalesce(i.url, p.url) AS url, i.error
    FROM {jobs} JOIN items i ON i.job_id = j.id AND i.position = 0
    JOIN pages p ON p.id = i.page_id
    """
_ONE = Statement(_JOB.format(jobs="jobs j") + "WHERE j.public_id = :job")
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
_IN_STATE = Lookup(
    f"""
    SELECT j.id, j.created_at, j.name FROM jobs j
    WHERE j.state = {{each_state}} AND j.done >= {{each_least}} AND j.done <= {{each_most}}
      AND {_BEFORE} {_NEWEST_FIRST}
    """,  # noqa: S608
    each={"state": "text", "least": "int", "most": "int"},
)
_WITH_TAG = Statement(
    """
    SELECT j.id, j.created_at, j.name, j.state, j.done
    FROM job_tags t JOIN jobs j ON j.id = t.job_id
    WHERE t.tag = :tag AND t.job_id < CAST(:id AS bigint) ORDER BY t.job_id DESC LIMIT :most
    """
)
_COUNT = Statement("SELECT count(*) FROM (SELECT 1 FROM jobs LIMIT :most) AS counted")
_COUNT_IN_STATE = Lookup(
    """
    SELECT count(*) AS counted FROM (
        SELECT 1 FROM jobs WHERE state = {each_state} AND done >= {each_least}
          AND done <= {each_most} LIMIT :most) AS found_jobs
    """,
    each={"state": "text", "least": "int", "most": "int"},
)
_TAGS = Statement(
    "SELECT t.job_id, t.tag FROM {wanted} JOIN job_tags t ON t.job_id = wanted.id ORDER BY t.tag",
    wanted={"id": "bigint"},
)
_LIVE_WORKERS = Statement("SELECT count(*) FROM workers WHERE lease_until > :now")


def read_job(connection: Connection, job: str) -> Any:
    """The job with its first item; raises when there is none."""
    row = _ONE(connection, job=job).one_or_none()
    if row is None:
        raise NotFound("job", job)
    return row


def read_with_content(connection: Connection, job: str) -> tuple[Any, Any]:
    """The job, and if it is of the fetch door the document of its one item."""
    row = read_job(connection, job)
    return row, _CONTENT(connection, job_id=row.id).one() if row.door == "fetch" else None


def read_with_tags(connection: Connection, job: str) -> tuple[Any, list[str]]:
    row = read_job(connection, job)
    return row, _tags_of(connection, [row.id])[row.id]


def _tags_of(connection: Connection, job_ids: Sequence[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {job_id: [] for job_id in job_ids}
    for row in _TAGS(connection, wanted=[(i,) for i in job_ids]) if job_ids else ():
        found[row.job_id].append(row.tag)
    return found


def list_jobs(
    connection: Connection, *, wanted: Filter | None, tag: str | None, q: str | None,
    after: Place, limit: int, skip: int,
) -> tuple[list[tuple[Any, list[str]]], int, Place | None]:  # fmt: skip
    """A page of the list with tags, newest first; how many there are, counted up to one over the
    cap; and where the next page begins."""
    looks_through = q is not None or (tag is not None and wanted is not None)
    most = SEARCHED if looks_through else skip + limit + 1
    found = _candidates(connection, wanted, tag, after, most)
    if q is not None:
        found = [row for row in found if q.lower() in (row.name or "").lower()]
    page = found[skip : skip + limit]
    more = len(found) > skip + limit
    counts_all = tag is None and q is None
    total = _total(connection, wanted) if counts_all else len(found) + (after == FIRST and more)
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
    found = _IN_STATE(connection, _ranges(wanted), at=at, id=number, most=most)
    return sorted(found, key=lambda row: (row.created_at, row.id), reverse=True)[:most]


def _total(connection: Connection, wanted: Filter | None) -> int:
    if wanted is None:
        return int(_COUNT(connection, most=TOTAL_CAP + 1).scalar_one())
    rows = _COUNT_IN_STATE(connection, _ranges(wanted), most=TOTAL_CAP + 1)
    return sum(row.counted for row in rows)


def _ranges(wanted: Filter) -> list[tuple[str, int, int]]:
    """Each state with how many pages must have succeeded, at least and at most."""
    any_number = (0, 2**31 - 1)
    of_failed = {None: any_number, True: (1, 2**31 - 1), False: (0, 0)}[wanted.failed_with_success]
    return [
        (str(state), *(of_failed if state == JobState.FAILED else any_number))
        for state in wanted.states
    ]


def _fits(row: Any, wanted: Filter) -> bool:
    return any(
        row.state == state and least <= row.done <= most for state, least, most in _ranges(wanted)
    )
