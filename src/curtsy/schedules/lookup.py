"""Schedules by their id, or by the name that their user gave them."""

from typing import Any

from curtsy.errors import BadRequest, NotFound
from curtsy.schedules.due import COLUMNS
from curtsy.store import Connection, Statement

MOST_NAMESAKES = 100

_ONE = Statement(f"SELECT {COLUMNS} FROM schedules s WHERE s.public_id = :id")  # noqa: S608
_LOCK = Statement(f"SELECT {COLUMNS} FROM schedules s WHERE s.public_id = :id {{lock}}")  # noqa: S608
_BY_NAME = Statement(
    "SELECT public_id, owner FROM schedules WHERE name = :name ORDER BY id LIMIT :most"
)


def id_of(connection: Connection, name: str, *, user: str | None, sees_all: bool) -> str:
    """Of a schedule that is called by its id or its name. Names are each user's own: who sees all
    means the own one first, then the only one."""
    row = _ONE(connection, id=name).one_or_none()
    if row is not None and (sees_all or row.user_id == user):
        return str(row.public_id)
    owner, named = user or "", list(_BY_NAME(connection, name=name, most=MOST_NAMESAKES))
    own = [found.public_id for found in named if found.owner == owner]
    others = [found.public_id for found in named] if sees_all else []
    if not own and len(others) > 1:
        raise BadRequest([f"Several users have a schedule {name[:100]!r}: name it by its id."])
    if not (own or others):
        raise NotFound("schedule", name[:100])
    return str((own or others)[0])


def find(connection: Connection, schedule: str) -> Any:
    """By its id."""
    row = _ONE(connection, id=schedule).one_or_none()
    if row is None:
        raise NotFound("schedule", schedule[:100])
    return row


def locked(connection: Connection, schedule: str) -> Any:
    row = _LOCK(connection, id=schedule).one_or_none()
    if row is None:
        raise NotFound("schedule", schedule[:100])
    return row


_NOBODYS = Statement(  # nobody's in particular: what users made is not the file's
    "SELECT public_id, name, described_as, of_site FROM schedules WHERE owner = ''"
)


def nobodys(connection: Connection) -> list[Any]:
    """Schedules that belong to no user: those of the file of schedules, and of sites."""
    return list(_NOBODYS(connection))
