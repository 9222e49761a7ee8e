"""The lock file of `curtsy up`: one process per database. The kernel releases the lock when the
process ends; the file contains the process id."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from curtsy.config import Settings
from curtsy.errors import BadSetting, StoreAway, StoreFull
from curtsy.model.masks import masked_database_url
from curtsy.privacy import close_to_others, open_private

SQLITE = "sqlite:///"


class UpAlready(BadSetting):
    code = "up_already"


def lock_path(settings: Settings) -> Path:
    """Next to a SQLite file; in the working folder for other databases."""
    url = settings.database_url
    return Path(f"{url.removeprefix(SQLITE)}.up" if url.startswith(SQLITE) else "curtsy.up")


@contextmanager
def hold_lock(settings: Settings) -> Iterator[None]:
    """Holds the lock. Raises `UpAlready` if another process holds it."""
    path = lock_path(settings)
    try:
        file = open_private(path, os.O_RDWR)
    except OSError as error:
        raise BadSetting(f"{path} cannot be written ({error.strerror}).") from None
    close_to_others(path)
    try:
        if not _lock(file):
            where = masked_database_url(settings.database_url)
            raise UpAlready(
                f"curtsy is up already on {where} (process {_process_id(file)}). "
                "Use that one, end it with `curtsy stop`, or set another CURTSY_DATABASE_URL."
            )
        _write_process_id(file, path)
        yield
        os.truncate(file, 0)
    finally:
        os.close(file)


def _write_process_id(file: int, path: Path) -> None:
    os.truncate(file, 0)
    try:
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        reason = f"{path}: {error.strerror}"
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StoreFull(reason) if full else StoreAway(reason) from None


def running_process(settings: Settings) -> int | None:
    """Returns the id of the process that holds the lock, if there is one."""
    try:
        file = os.open(lock_path(settings), os.O_RDWR)
    except OSError:
        return None
    try:
        return None if _lock(file) else _process_id(file)
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _process_id(file: int) -> int | None:
    text = os.pread(file, 20, 0).strip()
    return int(text) if text.isdigit() else None
