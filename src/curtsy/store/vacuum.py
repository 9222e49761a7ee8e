"""Rewrites a SQLite file without its free pages; afterwards cleanup can return free pages to the
disk a few at a time, also those of a file from before curtsy made files so."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from curtsy.errors import CurtsyError
from curtsy.store.disk_space import free_bytes
from curtsy.store.sqlite import INCREMENTAL

BUSY_MS = 1_000
COPIES = 2
"""SQLite writes the new file beside the old one, and then into the log."""


class VacuumRefused(CurtsyError):
    code = "vacuum_refused"


class Vacuumed(NamedTuple):
    """The size of the file in bytes, before and after."""

    before: int
    after: int


def vacuum(database: Path) -> Vacuumed:
    """Blocks until it is done, which takes some seconds per gigabyte; nobody can write meanwhile.
    Raises `VacuumRefused`, and leaves the file as it was."""
    before = database.stat().st_size
    free = free_bytes(database)
    if free is not None and free < COPIES * before:
        raise VacuumRefused(
            f"{database} is as it was: its disk has {free:,} bytes left, and a vacuum may need "
            f"{COPIES * before:,}, which is twice the file."
        )
    try:
        _rewrite(database)
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise VacuumRefused(
                f"{database} is in use, and is as it was: stop all its processes (`curtsy stop`, "
                "and every worker, scheduler and API), then try again."
            ) from None
        raise VacuumRefused(f"{database} is as it was: {error}.") from error
    return Vacuumed(before, database.stat().st_size)


def _rewrite(database: Path) -> None:
    uri = f"{database.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
