"""Lists jobs, newest first, filtered by state, user, tag, name, source or pages.

Indexes find jobs by one filter. With several filters a list searches a bounded number of jobs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from curtsy.jobs.job import Job, read_newest_first, tags_of
from curtsy.jobs.page_filters import SourceFilter, jobs_of_source, jobs_with_pages
from curtsy.model.job_states import OPEN_STATES
from curtsy.model.status_words import StatusFilter, in_states
from curtsy.store import Connection, Lookup, Statement

TOTAL_CAP = 1_000
"""Counts stop here, so that a list does not cost more the more jobs there are."""
SEARCHED = 10_000
"""Jobs that one list reads at most where no index covers all filters."""
SEARCHED_BY_SOURCE = 1_000
Place = tuple[int, int]
"""The place of a job in the list: when it was created, and its id."""
FIRST: Place = (2**62, 2**62)

_BEFORE = "(j.created_at, j.id) < (CAST(:at AS bigint), CAST(:id AS bigint))"
_NEWEST_FIRST = "ORDER BY j.created_at DESC, j.id DESC LIMIT :most"
_COLUMNS = "j.id, j.created_at, j.name, j.state, j.door, j.done, j.user_id"
_NEWEST = Statement(
    f"SELECT {_COLUMNS} FROM jobs j WHERE {_BEFORE} {_NEWEST_FIRST}"  # noqa: S608
)
# One state and door, but written as a range: PostgreSQL knows that an equality orders nothing, and
# may then search for a rare state through all jobs by age.
_OF_STATE = """
    FROM jobs j WHERE (j.state, j.door) >= ({each_state}, {each_door})
      AND (j.state, j.door, j.created_at, j.id)
          < ({each_state}, {each_door}, CAST(:at AS bigint), CAST(:id AS bigint))
    ORDER BY j.state DESC, j.door DESC, j.created_at DESC, j.id DESC LIMIT :most
    """
_OF_STATE_EACH = {"state": "text", "door": "text"}
_IN_STATE = Lookup(f"SELECT {_COLUMNS} {_OF_STATE}", each=_OF_STATE_EACH)
_COUNT_IN_STATE = Lookup(
    f"SELECT count(*) AS counted FROM (SELECT 1 {_OF_STATE}) AS found_jobs",  # noqa: S608
    each=_OF_STATE_EACH,
)
_OF_FAILED = {
    with_success: f"""
        FROM jobs j WHERE j.state = 'failed' AND {done} AND j.door >= {{each_door}}
          AND (j.door, j.created_at, j.id)
              < ({{each_door}}, CAST(:at AS bigint), CAST(:id AS bigint))
        ORDER BY j.door DESC, j.created_at DESC, j.id DESC LIMIT :most
        """
    for with_success, done in {True: "j.done > 0", False: "j.done = 0"}.items()
}
_FAILED = {
    with_success: Lookup(f"SELECT {_COLUMNS} {which}", each={"door": "text"})
    for with_success, which in _OF_FAILED.items()
}
_COUNT_FAILED = {
    with_success: Lookup(
        f"SELECT count(*) AS counted FROM (SELECT 1 {which}) AS found_jobs",  # noqa: S608
        each={"door": "text"},
    )
    for with_success, which in _OF_FAILED.items()
}
_WITH_TAG = Statement(
    f"""
    SELECT {_COLUMNS} FROM job_tags t JOIN jobs j ON j.id = t.job_id
    WHERE t.tag = :tag AND t.job_id < CAST(:id AS bigint) ORDER BY t.job_id DESC LIMIT :most
    """  # noqa: S608
)
_OF_IDS = Statement(
    f"""
    SELECT {_COLUMNS} FROM {{wanted}} JOIN jobs j ON j.id = wanted.id
    WHERE {_BEFORE} {_NEWEST_FIRST}
    """,  # noqa: S608
    wanted={"id": "bigint"},
)
_OF_USER = Statement(
    f"""
    SELECT {_COLUMNS} FROM jobs j
    WHERE j.user_id = :user AND j.created_at <= CAST(:at AS bigint) AND {_BEFORE} {_NEWEST_FIRST}
    """  # noqa: S608
)
_COUNT_OF_USER = Statement(
    "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE user_id = :user LIMIT :most) AS counted"
)
_COUNT_WITH_TAG = Statement(
    "SELECT count(*) FROM (SELECT 1 FROM job_tags WHERE tag = :tag LIMIT :most) AS counted"
)
_COUNT = Statement(
    """
    SELECT count(*) FROM (
        SELECT 1 FROM jobs ORDER BY created_at DESC, id DESC LIMIT :most) AS counted
    """
)
_OPEN_OF_USER = Statement(
    """
    SELECT count(*) FROM (
        SELECT 1 FROM jobs WHERE user_id = :user AND user_id IS NOT NULL AND finished_at IS NULL
        LIMIT :most) AS found_jobs
    """
)


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Selects the jobs that match all fields that are not None."""

    user: str | None = None
    status: StatusFilter | None = None
    tag: str | None = None
    q: str | None = None
    """A part of the name."""
    pages: str | None = None
    """One of `PAGE_WORDS`: the job has such a page."""
    source: SourceFilter | None = None

    @property
    def needs_search(self) -> bool:
        """No single index covers the filter."""
        given = sum(field is not None for field in (self.user, self.status, self.tag))
        return given > 1 or any(one is not None for one in (self.q, self.pages, self.source))

    @property
    def searched(self) -> int:
        """How many jobs a search reads: fewer where it reads their pages too."""
        return SEARCHED if self.source is None else SEARCHED_BY_SOURCE

    def fits(self, job: "_Candidate") -> bool:
        return (
            (self.status is None or self.status.fits(job))
            and (self.q is None or self.q.lower() in (job.name or "").lower())
            and (self.user is None or self.user == job.user_id)
        )


class JobPage(NamedTuple):
    jobs: list[Job]
    total: int
    """Counted up to one over the cap; in a search, the number that this search found."""
    onward: Place | None
    """Where the next page begins. In a search the next page may be empty."""


class _Candidate(NamedTuple):
    """The columns of a job that filters need."""

    id: int
    created_at: int
    name: str | None
    state: str
    door: str
    done: int
    user_id: str | None

    @property
    def place(self) -> Place:
        return self.created_at, self.id


def list_jobs(
    connection: Connection, wanted: JobFilter, *, after: Place, limit: int, skip: int
) -> JobPage:
    most = wanted.searched if wanted.needs_search else skip + limit + 1
    candidates = _candidates(connection, wanted, after, most)
    found = [job for job in candidates if wanted.fits(job)]
    if wanted.tag is not None and (wanted.user is not None or wanted.pages is not None):
        tags = tags_of(connection, [job.id for job in found])
        found = [job for job in found if wanted.tag in tags[job.id]]
    if wanted.source is not None:
        theirs = jobs_of_source(connection, [job.id for job in found], wanted.source)
        found = [job for job in found if job.id in theirs]
    page = found[skip : skip + limit]
    onward = None
    if len(found) > skip + limit:
        onward = page[-1].place
    elif wanted.needs_search and len(candidates) == most:
        onward = candidates[-1].place
    total = len(found) if wanted.needs_search else _total(connection, wanted)
    return JobPage(read_newest_first(connection, [job.id for job in page]), total, onward)


def open_jobs(connection: Connection, user: str | None) -> int:
    """Counts the jobs that have not ended, up to one over the cap. With a user, counts only that
    user's jobs."""
    if user is not None:
        return int(_OPEN_OF_USER(connection, user=user, most=TOTAL_CAP + 1).scalar_one())
    return _total(connection, JobFilter(status=in_states(*OPEN_STATES)))


def _candidates(
    connection: Connection, wanted: JobFilter, after: Place, most: int
) -> list[_Candidate]:
    """Reads jobs, newest first, by the one filter that an index covers."""
    at, number = after
    if wanted.pages is not None:
        ids = [(job,) for job in jobs_with_pages(connection, wanted.pages)]
        rows = _OF_IDS(connection, wanted=ids, at=at, id=number, most=most) if ids else ()
        return _candidates_of(rows)
    if wanted.user is not None:
        return _candidates_of(_OF_USER(connection, user=wanted.user, at=at, id=number, most=most))
    if wanted.tag is not None:
        return _candidates_of(_WITH_TAG(connection, tag=wanted.tag, id=number, most=most))
    status = wanted.status
    if status is None:
        return _candidates_of(_NEWEST(connection, at=at, id=number, most=most))
    in_state = _IN_STATE(connection, sorted(status.whole), at=at, id=number, most=most)
    for with_success, doors in _failed(status).items():
        in_state += _FAILED[with_success](connection, doors, at=at, id=number, most=most)
    return sorted(_candidates_of(in_state), key=lambda job: job.place, reverse=True)[:most]


def _candidates_of(rows: Iterable[Any]) -> list[_Candidate]:
    return [_Candidate._make(row) for row in rows]


def _total(connection: Connection, wanted: JobFilter) -> int:
    most = TOTAL_CAP + 1
    if wanted.user is not None:
        return int(_COUNT_OF_USER(connection, user=wanted.user, most=most).scalar_one())
    if wanted.tag is not None:
        return int(_COUNT_WITH_TAG(connection, tag=wanted.tag, most=most).scalar_one())
    status = wanted.status
    if status is None:
        return int(_COUNT(connection, most=most).scalar_one())
    at, number = FIRST
    bounds = {"at": at, "id": number, "most": most}
    rows = _COUNT_IN_STATE(connection, sorted(status.whole), **bounds)
    for with_success, doors in _failed(status).items():
        rows += _COUNT_FAILED[with_success](connection, doors, **bounds)
    return sum(int(row.counted) for row in rows)


def _failed(status: StatusFilter) -> dict[bool, list[tuple[str]]]:
    """The doors whose failed jobs match only with, or only without, a success."""
    return {
        with_success: sorted((door,) for door, which in status.failed if which == with_success)
        for with_success in (True, False)
    }
