"""The table of reports: compressed JSON, and the few figures that lists show.

Reports of the timetable follow each other without a gap: at most one begins at any instant, so a
slot whose task runs twice stores one report.
"""

from collections.abc import Sequence
from typing import NamedTuple

import zstandard

from curtsy.errors import NotFound, Refused
from curtsy.reports.report import Report, Trigger, from_json, to_json
from curtsy.store import Connection, Statement

LATEST = "latest"
MOST_STORED = 2_000
"""The oldest give way: a program may request a report every second."""

_INSERT = Statement(
    """
    INSERT INTO stored_reports (public_id, trigger, created_at, since_at, until_at, ended, failed,
                                content)
    VALUES (:public_id, :trigger, :created_at, :since_at, :until_at, :ended, :failed, :content)
    ON CONFLICT (since_at) WHERE trigger = 'schedule' DO NOTHING
    """
)
_DELETE_BEYOND = Statement(
    """
    DELETE FROM stored_reports WHERE id <= (
        SELECT id FROM stored_reports ORDER BY id DESC LIMIT 1 OFFSET :most)
    """
)
_DELETE_OLD = Statement(
    """
    DELETE FROM stored_reports WHERE id IN (
        SELECT id FROM stored_reports WHERE created_at < :before ORDER BY id LIMIT :most)
    """
)
_COLUMNS = "id, public_id, trigger, created_at, since_at, until_at, ended, failed"
_LIST = Statement(
    f"""
    SELECT {_COLUMNS} FROM stored_reports WHERE id < :before ORDER BY id DESC LIMIT :most
    """  # noqa: S608
)
_LATEST = Statement("SELECT content FROM stored_reports ORDER BY id DESC LIMIT 1")
_ONE = Statement("SELECT content FROM stored_reports WHERE public_id = :public_id")
_LAST_OF_TIMETABLE = Statement(
    """
    SELECT until_at FROM stored_reports WHERE trigger = 'schedule' ORDER BY id DESC LIMIT 1
    """
)
_LEAVE_CHAIN = Statement(
    """
    UPDATE stored_reports SET trigger = 'manual' WHERE trigger = 'schedule' AND until_at > :after
    """
)


class NoReport(NotFound):
    def __init__(self) -> None:
        Refused.__init__(self, "There is no report yet: `curtsy generate-report` makes one, and so "
                         "does POST /reports.")  # fmt: skip


class StoredReport(NamedTuple):
    """A row without its content."""

    id: int
    public_id: str
    trigger: Trigger
    created_at: int
    since_at: int
    until_at: int
    ended: int
    failed: int


def store_report(connection: Connection, report: Report) -> bool:
    """Returns False if a report of the timetable already begins where this one does."""
    inserted = _INSERT(
        connection, public_id=report.id, trigger=report.trigger, created_at=report.at,
        since_at=report.since, until_at=report.until, ended=report.figures.ended,
        failed=report.figures.failed, content=zstandard.compress(to_json(report)),
    )  # fmt: skip
    _DELETE_BEYOND(connection, most=MOST_STORED)
    return bool(inserted.rowcount)


def stored_reports(
    connection: Connection, *, before: int | None, most: int
) -> Sequence[StoredReport]:
    """Newest first; `before` is the id of the last one of the page before."""
    rows = _LIST(connection, before=before if before is not None else 2**62, most=most)
    return [StoredReport._make(row) for row in rows]


def find_report(connection: Connection, name: str) -> Report:
    """Finds a report by its id, or the newest by the name `latest`. Raises `NotFound`."""
    found = (_LATEST(connection) if name == LATEST else _ONE(connection, public_id=name)).scalar()
    if found is None:
        raise NoReport if name == LATEST else NotFound("report", name[:100])
    return from_json(zstandard.decompress(found))


def end_of_last(connection: Connection) -> int | None:
    """Until when the last report of the timetable tells; None: there is none."""
    until: int | None = _LAST_OF_TIMETABLE(connection).scalar()
    return until


def leave_chain(connection: Connection, *, after: int) -> None:
    """Makes reports of the timetable that end after this instant like those by hand: they stay, and
    the chain goes on from the one before them."""
    _LEAVE_CHAIN(connection, after=after)


def delete_reports(connection: Connection, *, before: int, most: int) -> int:
    """Deletes at most `most` reports that were made before that instant; returns how many."""
    return int(_DELETE_OLD(connection, before=before, most=most).rowcount)
