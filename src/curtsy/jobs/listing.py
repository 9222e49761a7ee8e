"""The list of jobs, newest first: found by their state, user or tag, whatever else there is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from curtsy.jobs.job import Tagged, shown, tags_of
from curtsy.model.jobs import OPEN_STATES
from curtsy.model.status_words import StatusFilter, in_states
from curtsy.store import Connection, Lookup, Statement

TOTAL_CAP = 1_000
"""Counting further would cost more the more jobs there are."""
SEARCHED = 10_000
"""Where no index finds all that is asked for, so many jobs are looked through at a time."""
Place = tuple[int, int]
"""When a job was made, and its number: its place in the list."""
FIRST: Place = (2**62, 2**62)

_BEFORE = "(j.created_at, j.id) < (CAST(:at AS bigint), CAST(:id AS bigint))"
_NEWEST_FIRST = "ORDER BY j.created_at DESC, j.id DESC LIMIT :most"
_FOUND = "j.id, j.created_at, j.name, j.state, j.door, j.done"
_NEWEST = Statement(
    f"SELECT {_FOUND} FROM jobs j WHERE {_BEFORE} {_NEWEST_FIRST}"  # noqa: S608
)
# Of one state and door only, but said as a range: of an equality PostgreSQL knows that it orders
# nothing, and may then look for a rare state through all jobs by age.
_OF_STATE = """
    FROM jobs j WHERE (j.state, j.door) >= ({each_state}, {each_door})
      AND (j.state, j.door, j.created_at, j.id)
          < ({each_state}, {each_door}, CAST(:at AS bigint), CAST(:id AS bigint))
    ORDER BY j.state DESC, j.door DESC, j.created_at DESC, j.id DESC LIMIT :most
    """
_OF_STATE_EACH = {"state": "text", "door": "text"}
_IN_STATE = Lookup(f"SELECT {_FOUND} {_OF_STATE}", each=_OF_STATE_EACH)
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
    with_success: Lookup(f"SELECT {_FOUND} {which}", each={"door": "text"})
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
    SELECT {_FOUND} FROM job_tags t JOIN jobs j ON j.id = t.job_id
    WHERE t.tag = :tag AND t.job_id < CAST(:id AS bigint) ORDER BY t.job_id DESC LIMIT :most
    """  # noqa: S608
)
_OF_USER = Statement(
    f"""
    SELECT {_FOUND} FROM jobs j
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
    """Which jobs are to be listed: those that fit everything that is said."""

    user: str | None = None
    wanted: StatusFilter | None = None
    tag: str | None = None
    q: str | None = None
    """A part of the name."""

    @property
    def is_searched_for(self) -> bool:
        """No index has them all together."""
        said = sum(one is not None for one in (self.user, self.wanted, self.tag))
        return self.q is not None or said > 1

    def fits(self, row: Any) -> bool:
        return (self.wanted is None or self.wanted.fits(row)) and (
            self.q is None or self.q.lower() in (row.name or "").lower()
        )


class Listed(NamedTuple):
    jobs: list[Tagged]
    total: int
    """Counted up to one over the cap; of what is searched for, what this search has found."""
    onward: Place | None
    """Where the next page begins. It may be empty, where much was looked through."""


def list_jobs(
    connection: Connection, wish: JobFilter, *, after: Place, limit: int, skip: int
) -> Listed:
    most = SEARCHED if wish.is_searched_for else skip + limit + 1
    looked_at = _candidates(connection, wish, after, most)
    found = [row for row in looked_at if wish.fits(row)]
    if wish.tag is not None and wish.user is not None:
        tags = tags_of(connection, [row.id for row in found])
        found = [row for row in found if wish.tag in tags[row.id]]
    page = found[skip : skip + limit]
    onward = None
    if len(found) > skip + limit:
        onward = _place(page[-1])
    elif wish.is_searched_for and len(looked_at) == most:
        onward = _place(looked_at[-1])
    total = len(found) if wish.is_searched_for else _total(connection, wish)
    return Listed(shown(connection, [row.id for row in page]), total, onward)


def open_jobs(connection: Connection, user: str | None) -> int:
    """That have not ended, counted up to one over the cap; with a user, of that one's alone."""
    if user is not None:
        return int(_OPEN_OF_USER(connection, user=user, most=TOTAL_CAP + 1).scalar_one())
    return _total(connection, JobFilter(wanted=in_states(*OPEN_STATES)))


def _place(row: Any) -> Place:
    return row.created_at, row.id


def _candidates(connection: Connection, wish: JobFilter, after: Place, most: int) -> Sequence[Any]:
    """Newest first, by the one thing of what is said that an index finds."""
    at, number = after
    if wish.user is not None:
        return _OF_USER(connection, user=wish.user, at=at, id=number, most=most).all()
    if wish.tag is not None:
        return _WITH_TAG(connection, tag=wish.tag, id=number, most=most).all()
    if wish.wanted is None:
        return _NEWEST(connection, at=at, id=number, most=most).all()
    found = _IN_STATE(connection, sorted(wish.wanted.whole), at=at, id=number, most=most)
    for with_success, doors in _failed(wish.wanted).items():
        found += _FAILED[with_success](connection, doors, at=at, id=number, most=most)
    return sorted(found, key=_place, reverse=True)[:most]


def _total(connection: Connection, wish: JobFilter) -> int:
    most = TOTAL_CAP + 1
    if wish.user is not None:
        return int(_COUNT_OF_USER(connection, user=wish.user, most=most).scalar_one())
    if wish.tag is not None:
        return int(_COUNT_WITH_TAG(connection, tag=wish.tag, most=most).scalar_one())
    if wish.wanted is None:
        return int(_COUNT(connection, most=most).scalar_one())
    at, number = FIRST
    bounds = {"at": at, "id": number, "most": most}
    rows = _COUNT_IN_STATE(connection, sorted(wish.wanted.whole), **bounds)
    for with_success, doors in _failed(wish.wanted).items():
        rows += _COUNT_FAILED[with_success](connection, doors, **bounds)
    return sum(int(row.counted) for row in rows)


def _failed(wanted: StatusFilter) -> dict[bool, list[tuple[str]]]:
    """Doors of whose failed jobs only those with, or without, a success are meant."""
    return {
        with_success: sorted((door,) for door, which in wanted.failed if which == with_success)
        for with_success in (True, False)
    }
