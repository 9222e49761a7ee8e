"""Reads schedules by id or by name, and defines the row that the whole room works with."""

from typing import Any, NamedTuple

from curtsy.errors import BadRequest, NotFound
from curtsy.store import Connection, Statement

MOST_NAMESAKES = 100


class Schedule(NamedTuple):
    """A row of the table schedules."""

    id: int
    public_id: str
    name: str
    user_id: str | None
    key_id: int | None
    rule: str
    """JSON; see `curtsy.timetable.from_json`."""
    timezone: str
    payload: str
    """JSON: the request that a slot submits."""
    overlap: str
    catch_up: str
    window_ms: int
    not_before: int | None
    enabled: bool
    next_fire_at: int | None
    waiting_fire_at: int | None
    """The slot that waits for the previous run to end."""
    look_at: int | None
    """When a scheduler reads this row next; None: never."""
    last_fire_at: int | None
    first_job: str | None
    """The scheduled job that the next slot queues."""
    site_id: int | None
    described_as: str | None
    """Hash of the section of the schedules file that declared the schedule."""
    of_site: bool
    """The declaration of a site created the schedule, and the two are deleted together."""
    created_at: int
    updated_at: int


COLUMNS = ", ".join(f"s.{name}" for name in Schedule._fields)
"""The columns of a `Schedule`, in its order, from `schedules s`."""

_ONE = Statement(f"SELECT {COLUMNS} FROM schedules s WHERE s.public_id = :id")  # noqa: S608
_LOCK = Statement(f"SELECT {COLUMNS} FROM schedules s WHERE s.public_id = :id {{lock}}")  # noqa: S608
_BY_NAME = Statement(
    "SELECT public_id, owner FROM schedules WHERE name = :name ORDER BY id LIMIT :most"
)
_WITHOUT_USER = Statement(
    "SELECT public_id, name, described_as, of_site FROM schedules WHERE owner = ''"
)


class DeclaredSchedule(NamedTuple):
    """A schedule that belongs to no user."""

    public_id: str
    name: str
    described_as: str | None
    of_site: bool


def schedule_of(row: Any) -> Schedule:
    """Builds a `Schedule` from a row of `COLUMNS`; SQLite stores booleans as integers."""
    found = Schedule._make(row)
    return found._replace(enabled=bool(found.enabled), of_site=bool(found.of_site))


def is_maintenance(row: Schedule) -> bool:
    """Whether its slots run a maintenance task, not a job."""
    return row.payload.startswith('{"duty":')


def id_of(connection: Connection, name: str, *, user: str | None, sees_all: bool) -> str:
    """Returns the id of the schedule with this id or name. Names are unique per user: a caller
    who sees all schedules gets their own of that name, or else the only one."""
    row = _ONE(connection, id=name).one_or_none()
    if row is not None and (sees_all or row.user_id == user):
        return str(row.public_id)
    owner, named = user or "", list(_BY_NAME(connection, name=name, most=MOST_NAMESAKES))
    own = [found.public_id for found in named if found.owner == owner]
    others = [found.public_id for found in named] if sees_all else []
    if not own and len(others) > 1:
        raise BadRequest([f"Several users have a schedule {name[:100]!r}: use its id."])
    if not (own or others):
        raise NotFound("schedule", name[:100])
    return str((own or others)[0])


def find(connection: Connection, schedule: str) -> Schedule:
    """Returns the schedule with this id. Raises `NotFound`."""
    return _require(_ONE(connection, id=schedule).one_or_none(), schedule)


def locked(connection: Connection, schedule: str) -> Schedule:
    """Like `find`, with the row locked until the transaction ends."""
    return _require(_LOCK(connection, id=schedule).one_or_none(), schedule)


def without_user(connection: Connection) -> list[DeclaredSchedule]:
    """Lists the schedules that belong to no user: those of the schedules file, and of sites."""
    return [DeclaredSchedule(row.public_id, row.name, row.described_as, bool(row.of_site))
            for row in _WITHOUT_USER(connection)]  # fmt: skip


def _require(row: Any, schedule: str) -> Schedule:
    if row is None:
        raise NotFound("schedule", schedule[:100])
    return schedule_of(row)
