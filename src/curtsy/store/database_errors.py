"""Classifies database exceptions: retry, unavailable, disk full, or a bug in this program."""

import sqlite3
from contextlib import suppress
from pathlib import Path
from shutil import disk_usage
from typing import Literal

from curtsy.errors import CurtsyError, NotADatabase, StoreAway, StoreFull
from curtsy.model.masks import without_credentials

Verdict = Literal["again", "away", "full", "damaged", "ours"]

_CLIENT_ERRORS = ("InterfaceError", "InternalClientError")
"""A connection that is closed, or that broke in the middle of an answer."""
A_PAGE = 32 * 1024
"""The bytes by which SQLite enlarges its shared memory."""
_AGAIN = {"40001", "40P01", "55P03"}  # serialization, deadlock, lock not available
_FULL = {"53100"}  # disk full
_AWAY = {"57014", "25P03", "25P04", "42501", "25006"}
"""Statement, idle or transaction timeout; privilege; a standby, or a primary that became one."""
_AWAY_CLASSES = ("08", "28", "3D", "53", "57", "58", "XX")
"""Connection, authorisation, no such database, resources, operator, system, internal errors."""


def verdict(error: BaseException) -> Verdict:
    """again: the transaction may be repeated at once; away: the database is unavailable; full: its
    disk is full; damaged: the file is no database; ours: a bug in this program."""
    error = driver_error(error)
    if isinstance(error, OSError | TimeoutError):
        return "away"
    if isinstance(error, sqlite3.Error):
        return _sqlite_verdict(error)
    return _postgres_verdict(error) if _is_of_asyncpg(error) else "ours"


def driver_error(error: BaseException) -> BaseException:
    """Returns the driver's error inside of one of SQLAlchemy, which only migrations use."""
    inner = getattr(error, "orig", None)
    if not isinstance(inner, BaseException):
        return error
    cause = inner.__cause__
    return cause if cause is not None and _is_of_asyncpg(cause) else inner


def _is_of_asyncpg(error: BaseException, name: str | None = None) -> bool:
    """Tells by name: who has no PostgreSQL does not load asyncpg."""
    classes = (c for c in type(error).__mro__ if c.__module__.startswith("asyncpg."))
    return any(name in (None, c.__name__) for c in classes)


def _sqlite_verdict(error: sqlite3.Error) -> Verdict:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_FULL"):
        return "full"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "again"
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return "damaged"
    if name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PROTOCOL",
                        "SQLITE_PERM", "SQLITE_AUTH")):  # fmt: skip
        return "away"
    return "ours"


def _postgres_verdict(error: BaseException) -> Verdict:
    state = getattr(error, "sqlstate", None) or ""
    if state in _AGAIN or _is_of_asyncpg(error, "InvalidCachedStatementError"):
        return "again"
    if state in _FULL:
        return "full"
    if state in _AWAY or state.startswith(_AWAY_CLASSES):
        return "away"
    is_of_client = any(_is_of_asyncpg(error, name) for name in _CLIENT_ERRORS)
    return "away" if is_of_client else "ours"


def to_curtsy_error(error: BaseException, url: str) -> CurtsyError | None:
    """Returns the error to raise instead, or None for a bug in this program. What a driver says
    may quote the database's URL: its credentials are masked."""
    reason = without_credentials(_reason(error), url)
    match verdict(error):
        case "away" if _disk_is_full(error, url):
            return StoreFull(reason)
        case "again" | "away":
            return StoreAway(reason, *_trouble(error))
        case "damaged":
            return NotADatabase(reason)
        case "full":
            return StoreFull(reason)
        case "ours":
            return None


def _disk_is_full(error: BaseException, url: str) -> bool:
    """SQLite calls it an I/O error where it cannot enlarge the file of its shared memory."""
    name = getattr(driver_error(error), "sqlite_errorname", None) or ""
    if not name.startswith("SQLITE_IOERR"):
        return False
    with suppress(OSError):
        return disk_usage(Path(url.removeprefix("sqlite:///")).absolute().parent).free < A_PAGE
    return False


_TROUBLES: tuple[tuple[str, str, str], ...] = (
    ("SQLITE_BUSY", "is locked by another program", "close that program"),
    ("SQLITE_LOCKED", "is locked by another program", "close that program"),
    ("SQLITE_READONLY", "may not be written", "give this user the right to write its file"),
    ("SQLITE_PERM", "may not be used", "give this user the right to read and write its file"),
    ("SQLITE_CANTOPEN", "cannot be opened", "give this user the right to its file and folder"),
    ("SQLITE_IOERR", "cannot be read or written", "check its disk"),
    ("3D", "does not exist", "create it with `createdb` and `curtsy db upgrade`"),
    ("28", "refuses the login", "check the user and the password in DATABASE_URL"),
    ("25006", "has no server that can be written", "start the primary or promote a standby"),
    ("42501", "may not be used", "give its user the right to the tables"),
    ("55P03", "is locked by another program", "end the transaction that holds the lock"),
)
"""The beginning of an error's code, what that means, and what helps."""


def _trouble(error: BaseException) -> tuple[str, ...]:
    original = driver_error(error)
    code = getattr(original, "sqlite_errorname", None) or getattr(original, "sqlstate", None) or ""
    return next((found[1:] for found in _TROUBLES if code.startswith(found[0])), ())


def _reason(error: BaseException) -> str:
    """Returns one line, without the statement and its parameters."""
    inner = driver_error(error)
    line = str(inner).splitlines()[0] if str(inner) else type(inner).__name__
    return line[:200]
