"""One `up` for each database file: a lock that ends with its process, and says which that is."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from curtsy.config import Settings
from curtsy.errors import BadSetting

SQLITE = "sqlite:///"


class UpAlready(BadSetting):
    code = "up_already"


def place(settings: Settings) -> Path:
    """Beside a SQLite file; in the working folder for any other database."""
    url = settings.database_url
    return Path(f"{url.removeprefix(SQLITE)}.up" if url.startswith(SQLITE) else "curtsy.up")


@contextmanager
def presence(settings: Settings) -> Iterator[None]:
    """Held for as long as `up` runs. A second one is refused."""
    path = place(settings)
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise BadSetting(f"{path} cannot be written ({error.strerror}).") from None
    try:
        if not _lock(file):
            raise UpAlready(
                f"curtsy is up already on {settings.database_url} (process {_number(file)}). "
                "Use it, end it with `curtsy stop`, or give this one another CURTSY_DATABASE_URL."
            )
        os.truncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield
        os.truncate(file, 0)
    finally:
        os.close(file)


def who_is_up(settings: Settings) -> int | None:
    """The process, if there is one."""
    try:
        file = os.open(place(settings), os.O_RDWR)
    except OSError:
        return None
    try:
        return None if _lock(file) else _number(file)
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _number(file: int) -> int | None:
    text = os.pread(file, 20, 0).strip()
    return int(text) if text.isdigit() else None
