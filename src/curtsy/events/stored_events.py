"""Stored events: how they are built, inserted and read.

Readers of one job follow the event numbers of that job, which have no gaps and follow the order of
commits. No number does that across jobs, since a transaction that began early may commit late.
A reader of all jobs therefore stores a place, (transaction, sequence), and reads no event while a
transaction that began before that event is still open. SQLite has one writer at a time, so the
sequence alone is enough there.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import orjson

from curtsy.errors import CurtsyError
from curtsy.store import Call, Connection, Lookup, Statement

_EVENT_COLUMNS = """e.job_id, j.public_id, j.door, j.user_id, e.n, e.at, e.name, e.page_id, e.data,
                    e.xid, e.seq"""
_OF_JOB = Lookup(
    f"""
    SELECT {_EVENT_COLUMNS} FROM events e JOIN jobs j ON j.id = e.job_id
    WHERE e.job_id = {{each_job_id}} AND e.n > {{each_n}} ORDER BY e.n LIMIT :most
    """,  # noqa: S608
    each={"job_id": "bigint", "n": "bigint"},
)
_WITH_NEWS = Statement(
    """
    SELECT wanted.job_id, wanted.n, j.id IS NULL AS gone FROM {wanted}
    LEFT JOIN jobs j ON j.id = wanted.job_id
    WHERE j.id IS NULL OR j.last_event > wanted.n
    """,
    wanted={"job_id": "bigint", "n": "bigint"},
)
_OF_ALL = Statement(
    f"""
    SELECT {_EVENT_COLUMNS} FROM events e JOIN jobs j ON j.id = e.job_id
    WHERE {{behind_place}} AND {{settled}} ORDER BY {{by_place}} LIMIT :most
    """  # noqa: S608
)
_END = Statement(
    """
    SELECT e.xid, e.seq FROM events e WHERE {settled} ORDER BY {by_place_desc} LIMIT 1
    """
)
_INSERT = Statement(
    """
    INSERT INTO events (xid, job_id, n, at, name, page_id, data)
    SELECT {xid}, job_id, n, :now, name, page_id, data FROM {new} WHERE true
    """,
    new={"job_id": "bigint", "n": "bigint", "name": "text", "page_id": "bigint", "data": "text"},
)


class BadPlace(CurtsyError):
    code = "bad_place"


class Place(NamedTuple):
    """The last event that a reader of all events has read."""

    xid: int
    seq: int

    def __str__(self) -> str:
        return f"{self.xid}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> Self:
        found = re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})", text)
        if found is None:
            raise BadPlace("This is not a place in the stream of events.")
        return cls(int(found[1]), int(found[2]))


class JobProgress(NamedTuple):
    """The state and the counts of a job after an event."""

    state: str
    done: int
    failed: int
    cancelled: int
    total: int


EventRow = tuple[int, int, str, int | None, str]
"""A new row of `events`: job id, number, name, page id, data. (A plain tuple: orjson takes it.)"""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with its job. Followers share the event and its cached renderings."""

    job_id: int
    job: str
    door: str
    user_id: str | None
    n: int
    at: int
    name: str
    page_id: int | None
    data: Mapping[str, Any]
    place: Place
    rendered: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def job_progress(self) -> JobProgress:
        return JobProgress(*self.data["job"])


class News(NamedTuple):
    events: list[StoredEvent]
    gone: list[int]
    """Jobs that were purged."""


def event_row(
    job_id: int, n: int, name: str, data: Mapping[str, Any], progress: JobProgress,
    page_id: int | None = None,
) -> EventRow:  # fmt: skip
    """The row of a job's event number `n`. Its data includes the progress of the job after the
    event, so that a replay shows the same counts."""
    whole = {**data, "job": list(progress)}
    return job_id, n, name, page_id, orjson.dumps(whole).decode()


def insert_events(connection: Connection, rows: Sequence[EventRow], *, now: int) -> None:
    if rows:
        _INSERT(connection, new=rows, now=now)


def event_call(rows: Sequence[EventRow], *, now: int) -> Call:
    """Returns the call that inserts the events, for `together`."""
    return _INSERT, {"new": rows, "now": now}


def read_job_after(connection: Connection, job_id: int, n: int, *, most: int) -> list[StoredEvent]:
    return [_event(row) for row in _OF_JOB(connection, [(job_id, n)], most=most)]


def read_news(connection: Connection, known: Sequence[tuple[int, int]], *, most: int) -> News:
    """The new events of each of these jobs (id, last known event number), in order."""
    found = list(_WITH_NEWS(connection, wanted=known))
    behind = [(row.job_id, row.n) for row in found if not row.gone]
    events = [_event(row) for row in _OF_JOB(connection, behind, most=most)] if behind else []
    events.sort(key=lambda event: (event.job_id, event.n))
    return News(events, [row.job_id for row in found if row.gone])


def read_all_after(connection: Connection, place: Place, *, most: int) -> list[StoredEvent]:
    rows = _OF_ALL(connection, xid=place.xid, seq=place.seq, most=most)
    return [_event(row) for row in rows]


def end_of_all(connection: Connection) -> Place:
    row = _END(connection).one_or_none()
    return Place(row.xid, row.seq) if row is not None else Place(0, 0)


def _event(row: Any) -> StoredEvent:
    return StoredEvent(
        row.job_id, row.public_id, row.door, row.user_id, row.n, row.at, row.name, row.page_id,
        orjson.loads(row.data), Place(row.xid, row.seq),
    )  # fmt: skip
