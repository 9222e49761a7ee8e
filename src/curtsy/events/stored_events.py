"""Events as they are read: of one job by their own numbers, of all jobs behind the snapshot.

A job's numbers have no gaps and follow the order of commits, so they are all that its readers
need. Over all jobs no number does that: a transaction that began early may commit late. There the
place of a reader is (transaction, sequence), and no event is read while a transaction that began
before it is still open. SQLite has one writer at a time, so there the sequence alone will do.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import orjson

from curtsy.errors import CurtsyError
from curtsy.store import Connection, Lookup, Statement


class BadPlace(CurtsyError):
    code = "bad_place"


class Place(NamedTuple):
    """Where a reader of all events is: behind this one."""

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


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with the job it is of. Followers share it, and what it was rendered to."""

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
    def stands(self) -> tuple[str, int, int, int, int]:
        """The job's state after it, and its counts: done, failed, cancelled, total."""
        state, done, failed, cancelled, total = self.data["job"]
        return state, done, failed, cancelled, total


_FACT = """e.job_id, j.public_id, j.door, j.user_id, e.n, e.at, e.name, e.page_id, e.data, e.xid,
           e.seq"""
_OF_JOB = Lookup(
    f"""
    SELECT {_FACT} FROM events e JOIN jobs j ON j.id = e.job_id
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
    SELECT {_FACT} FROM events e JOIN jobs j ON j.id = e.job_id
    WHERE {{behind_place}} AND {{settled}} ORDER BY {{by_place}} LIMIT :most
    """  # noqa: S608
)
_END = Statement(
    """
    SELECT e.xid, e.seq FROM events e WHERE {settled} ORDER BY {by_place_desc} LIMIT 1
    """
)


def read_job_after(connection: Connection, job_id: int, n: int, *, most: int) -> list[StoredEvent]:
    return [_fact(row) for row in _OF_JOB(connection, [(job_id, n)], most=most)]


class News(NamedTuple):
    facts: list[StoredEvent]
    gone: list[int]
    """Jobs that were purged."""


def read_news(connection: Connection, known: Sequence[tuple[int, int]], *, most: int) -> News:
    """What is new of each of these jobs (by id, with the last number known), in order."""
    found = list(_WITH_NEWS(connection, wanted=known))
    behind = [(row.job_id, row.n) for row in found if not row.gone]
    facts = [_fact(row) for row in _OF_JOB(connection, behind, most=most)] if behind else []
    facts.sort(key=lambda fact: (fact.job_id, fact.n))
    return News(facts, [row.job_id for row in found if row.gone])


def read_all_after(connection: Connection, place: Place, *, most: int) -> list[StoredEvent]:
    rows = _OF_ALL(connection, xid=place.xid, seq=place.seq, most=most)
    return [_fact(row) for row in rows]


def end_of_all(connection: Connection) -> Place:
    row = _END(connection).one_or_none()
    return Place(row.xid, row.seq) if row is not None else Place(0, 0)


def _fact(row: Any) -> StoredEvent:
    return StoredEvent(
        row.job_id, row.public_id, row.door, row.user_id, row.n, row.at, row.name, row.page_id,
        orjson.loads(row.data), Place(row.xid, row.seq),
    )  # fmt: skip


_INSERT_EVENTS = Statement(
    """
    INSERT INTO events (xid, job_id, n, at, name, page_id, data)
    SELECT {xid}, job_id, n, :now, name, page_id, data FROM {made} WHERE true
    """,
    made={"job_id": "bigint", "n": "bigint", "name": "text", "page_id": "bigint", "data": "text"},
)


def record_events(connection: Connection, made: Sequence[tuple[Any, ...]], *, now: int) -> None:
    if made:
        _INSERT_EVENTS(connection, made=made, now=now)
