"""Copies a SQLite database while it is in use, and puts a copy in its place. PostgreSQL has its own
programs for both; the lines that call them are made here."""

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from curtsy.errors import CurtsyError
from curtsy.store.database_url import parse_database_url
from curtsy.store.version import newest

_BUSY_SECONDS = 10.0
_LOG_FILES = ("-wal", "-shm", "-journal")
_PG_DUMP = ("pg_dump", "--format=custom", "--no-owner")
_PG_RESTORE = ("pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction",
               "--exit-on-error")  # fmt: skip
_LIBPQ_OPTIONS = frozenset({
    "connect_timeout", "dbname", "host", "port", "sslcert", "sslkey", "sslmode", "sslrootcert",
    "target_session_attrs", "user",
})  # fmt: skip


class BackupFailed(CurtsyError):
    code = "backup_failed"


class RestoreRefused(CurtsyError):
    code = "restore_refused"


def back_up(database: Path, target: Path, *, replace: bool) -> int:
    """Copies the database to the target, which appears when the copy is complete and checked.
    Returns its size in bytes. Raises `BackupFailed`.

    The copy has everything that was committed before it began; writers do not wait.
    """
    if target.is_dir():
        raise BackupFailed(f"{target} is a folder: name a file.")
    if target.exists() and _is_same(database, target):
        raise BackupFailed(f"{target} is the database itself: name another file.")
    if target.exists() and not replace:
        raise BackupFailed(f"{target} exists: name another file, or replace it with --force.")
    try:
        with _new_file_beside(target) as copy:
            _copy(database, copy)
            problem = _problem_of(copy)
            if problem:
                raise BackupFailed(f"The database {database} is damaged: {problem}.")
            size = copy.stat().st_size
            _appear(copy, target, replace=replace)
    except (OSError, sqlite3.Error) as error:
        raise BackupFailed(f"No backup was made of {database}: {_reason(error)}.") from error
    return size


def restore(backup: Path, database: Path, *, replace: bool) -> str:
    """Puts a copy of the backup in the place of the database, at once or not at all. Returns the
    backup's schema version. Raises `RestoreRefused`."""
    if not backup.is_file():
        raise RestoreRefused(f"There is no file {backup}.")
    if database.exists() and _is_same(backup, database):
        raise RestoreRefused(f"{backup} is the database itself: name a backup.")
    if _has_content(database) and not replace:
        raise RestoreRefused(
            f"{database} exists: --force replaces it. `curtsy backup` can keep a copy before."
        )
    try:
        with _new_file_beside(database) as copy:
            _copy(backup, copy)
            version = _restorable_version(copy, backup)
            _sync(copy)
            with _sole_user(database):
                copy.replace(database)
            _sync(database.parent)
    except (OSError, sqlite3.Error) as error:
        raise RestoreRefused(
            f"{backup} was not restored, and {database} is as it was: {_reason(error)}."
        ) from error
    return version


def dump_line(url: str, target: str) -> str:
    """Returns the shell's line that backs up a PostgreSQL database; without the password."""
    return shlex.join([*_PG_DUMP, f"--file={target}", f"--dbname={_libpq_url(url)}"])


def restore_line(url: str, backup: str) -> str:
    """Returns the shell's line that restores it; without the password."""
    return shlex.join([*_PG_RESTORE, f"--dbname={_libpq_url(url)}", backup])


def _libpq_url(url: str) -> str:
    parsed = parse_database_url(url)
    options = dict(parsed.options)
    options.pop("password", None)
    if tls := options.pop("ssl", None):
        options.setdefault("sslmode", tls)
    kept = {name: value for name, value in options.items() if name in _LIBPQ_OPTIONS}
    if len(parsed.servers) > 1:
        kept.setdefault("target_session_attrs", "read-write")
    rest = [f"-c{name}={value}" for name, value in options.items() if name not in _LIBPQ_OPTIONS]
    if rest:
        kept["options"] = " ".join(rest)
    return parsed._replace(password=None, options=kept).text()


@contextmanager
def _new_file_beside(target: Path) -> Iterator[Path]:
    """Makes an empty file that only its owner may read; removes it and its logs in the end, unless
    it has another name by then."""
    path = target.with_name(f".{target.name}.{os.getpid()}.part")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    try:
        yield path
    finally:
        for name in (path, *_logs_of(path)):
            name.unlink(missing_ok=True)


def _copy(origin: Path, copy: Path) -> None:
    """Copies in one step: a copy in several would begin again after each commit of another."""
    with closing(_open(origin)) as source, closing(_open(copy)) as target:
        source.backup(target, pages=-1)
        target.execute("PRAGMA journal_mode = DELETE")  # all in one file


def _open(path: Path) -> sqlite3.Connection:
    """Opens a file that exists."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)


def _problem_of(copy: Path) -> str | None:
    with closing(_open(copy)) as connection:
        found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    return None if found == "ok" else found.splitlines()[-1]


def _restorable_version(copy: Path, backup: Path) -> str:
    problem = _problem_of(copy)
    if problem:
        raise RestoreRefused(f"{backup} is damaged and was not restored: {problem}.")
    with closing(_open(copy)) as connection:
        try:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.OperationalError:
            row = None
    if row is None:
        raise RestoreRefused(f"{backup} is no backup of curtsy: it has none of its tables.")
    version = str(row[0])
    if version > newest() and (oldest := _oldest_program(copy, version)) > newest():
        raise RestoreRefused(
            f"{backup} has schema {version}, which works with programs of schema {oldest} or "
            f"newer, and this program knows {newest()}: restore it with the newer curtsy that made "
            "it."
        )
    return version


def _oldest_program(copy: Path, version: str) -> str:
    """Reads what `store.version` reads of a database in use."""
    with closing(_open(copy)) as connection:
        try:
            said = connection.execute("SELECT revision, oldest_program FROM schema_support")
            supported = dict(said.fetchall())
        except sqlite3.OperationalError:
            return version
    return max(supported.values()) if version in supported else version


@contextmanager
def _sole_user(database: Path) -> Iterator[None]:
    """Keeps all others from the database, and ends its write-ahead log, which would be applied to
    the file that comes into its place. Raises `RestoreRefused` if another process has it open."""
    with ExitStack() as stack:
        if _has_content(database):
            connection = stack.enter_context(closing(_open(database)))
            try:
                _end_log(connection)
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    raise RestoreRefused(
                        f"{database} is in use, and is as it was: stop all its processes "
                        "(`curtsy stop`, and every worker, scheduler and API), then try again."
                    ) from None
                # Otherwise it is damaged, which may be why it is replaced.
        for log in _logs_of(database):
            log.unlink(missing_ok=True)
        yield


def _end_log(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA busy_timeout = 500")
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("BEGIN EXCLUSIVE")  # nobody else may have it open
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("BEGIN EXCLUSIVE")


def _appear(copy: Path, target: Path, *, replace: bool) -> None:
    _sync(copy)
    if replace:
        copy.replace(target)
    else:
        os.link(copy, target)  # fails if the target has appeared meanwhile
    _sync(target.parent)


def _sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _logs_of(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in _LOG_FILES]


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _is_same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one.samefile(other)
    return False


def _reason(error: OSError | sqlite3.Error) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
