"""Finds the owner of a job, and the pages that a user has requested."""

from curtsy.model.job_states import ItemState
from curtsy.store import Connection, Statement

ITEMS_SEARCHED = 20_000
"""The newest of a user: no index leads from a page to all items that ever had it."""

_OWNER = Statement("SELECT user_id FROM jobs WHERE public_id = :job")


def _searches(wanted: str, limit: str = "") -> tuple[Statement, ...]:
    """Searches by page for the states of items that have an index by page; then by user."""
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
    return tuple(Statement(sql) for sql in (*by_page, by_user))


_ANY = _searches("1", "LIMIT 1")
_FIRST = _searches("min(created_at)")


def owner_of(connection: Connection, job: str) -> str | None:
    owner: str | None = _OWNER(connection, job=job).scalar()
    return owner


def has_page(connection: Connection, user_id: str, page_id: int) -> bool:
    return any(
        search(connection, user_id=user_id, page_id=page_id, most=ITEMS_SEARCHED).scalar()
        for search in _ANY
    )


def first_requested(connection: Connection, user_id: str, page_id: int) -> int | None:
    """When the first job of the user that wanted the page was created."""
    known = {"user_id": user_id, "page_id": page_id, "most": ITEMS_SEARCHED}
    found = [search(connection, **known).scalar() for search in _FIRST]
    return min((at for at in found if at is not None), default=None)
