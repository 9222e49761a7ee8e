"""Classifies database exceptions: retry, unavailable, disk full, or a bug in this program."""

import sqlite3
from typing import Literal

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from curtsy.errors import CurtsyError, StoreAway, StoreFull
from curtsy.model.masks import without_credentials

Verdict = Literal["again", "away", "full", "ours"]

_AGAIN = {"40001", "40P01", "55P03"}  # serialization, deadlock, lock not available
_FULL = {"53100"}  # disk full
_AWAY = {"57014", "25P03", "25P04"}  # statement, idle or transaction timeout
_AWAY_CLASSES = ("08", "28", "3D", "53", "57", "58", "XX")
"""Connection, authorisation, no such database, resources, operator, system, internal errors."""


def verdict(error: BaseException) -> Verdict:
    """again: the transaction may be repeated at once; away: the database is unavailable; full: its
    disk is full; ours: a bug in this program."""
    if isinstance(error, PoolTimeout | OSError | TimeoutError):
        return "away"
    if not isinstance(error, DBAPIError):
        return "ours"
    if isinstance(error.orig, sqlite3.Error):
        return _sqlite_verdict(error.orig)
    return _postgres_verdict(error)


def _sqlite_verdict(error: sqlite3.Error) -> Verdict:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_FULL"):
        return "full"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "again"
    if name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PROTOCOL")):
        return "away"
    return "ours"


def _postgres_verdict(error: DBAPIError) -> Verdict:
    state = getattr(error.orig, "sqlstate", None)
    if state in _AGAIN:
        return "again"
    if state in _FULL:
        return "full"
    if state in _AWAY or (state or "").startswith(_AWAY_CLASSES):
        return "away"
    if error.connection_invalidated or isinstance(error, InterfaceError):
        return "away"
    return "away" if state is None and isinstance(error, OperationalError) else "ours"


def to_curtsy_error(error: BaseException, url: str) -> CurtsyError | None:
    """Returns the error to raise instead, or None for a bug in this program. What a driver says
    may quote the database's URL: its credentials are masked."""
    reason = without_credentials(_reason(error), url)
    match verdict(error):
        case "again" | "away":
            return StoreAway(reason)
        case "full":
            return StoreFull(reason)
        case "ours":
            return None


def _reason(error: BaseException) -> str:
    """Returns one line, without the statement and its parameters."""
    inner = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    line = str(inner).splitlines()[0] if str(inner) else type(inner).__name__
    if isinstance(error, SQLAlchemyError) and ": " in line and line.startswith("<class"):
        line = line.split(": ", 1)[1]
    return line[:200]
