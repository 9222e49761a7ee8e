"""Which pages and jobs a user has."""

from curtsy.model.jobs import ItemState
from curtsy.store import Connection, Statement

ITEMS_LOOKED_THROUGH = 20_000
"""Of a user's, the newest: there is no way from a page to all items that ever had it."""

_OWNER = Statement("SELECT user_id FROM jobs WHERE public_id = :job")


def _looks(wanted: str, limit: str = "") -> tuple[Statement, ...]:
    """By page, where items of that state are found by it; then by user."""
    by_page = [
        f"""
        SELECT {wanted} FROM (
            SELECT job_id FROM items
            WHERE page_id = :page_id AND state = {state} LIMIT :most) AS found
        JOIN jobs j ON j.id = found.job_id WHERE j.user_id = :user_id {limit}
        """  # noqa: S608
        for state in (ItemState.WAITING.value, ItemState.FAILED.value)
    ]
    by_user = f"""
        SELECT {wanted} FROM (
            SELECT i.page_id, j.created_at FROM jobs j JOIN items i ON i.job_id = j.id
            WHERE j.user_id = :user_id ORDER BY j.created_at DESC LIMIT :most) AS newest
        WHERE page_id = :page_id {limit}
    """  # noqa: S608
    return tuple(Statement(look) for look in (*by_page, by_user))


_ANY = _looks("1", "LIMIT 1")
_FIRST = _looks("min(created_at)")


def owner_of(connection: Connection, job: str) -> str | None:
    owner: str | None = _OWNER(connection, job=job).scalar()
    return owner


def has_page(connection: Connection, user_id: str, page_id: int) -> bool:
    return any(
        look(connection, user_id=user_id, page_id=page_id, most=ITEMS_LOOKED_THROUGH).scalar()
        for look in _ANY
    )


def first_asked(connection: Connection, user_id: str, page_id: int) -> int | None:
    known = {"user_id": user_id, "page_id": page_id, "most": ITEMS_LOOKED_THROUGH}
    found = [look(connection, **known).scalar() for look in _FIRST]
    return min((at for at in found if at is not None), default=None)
