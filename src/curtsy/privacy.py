"""Creates files that only their owner may read, whatever the umask says."""

import os
import stat
from contextlib import suppress
from pathlib import Path

OWNER_ONLY = 0o600
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def open_private(path: Path, flags: int) -> int:
    """Opens a file, and creates it for its owner alone. Returns its descriptor."""
    return os.open(path, flags | os.O_CREAT, OWNER_ONLY)


def create_private(path: Path) -> None:
    """Creates an empty file for its owner alone; leaves one that exists, and leaves errors to
    whoever opens the file.

    A database that exists is not even opened: whoever closes a descriptor of it takes the locks
    from all SQLite connections of this process, and other processes would delete its log.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))


def close_to_others(path: Path) -> None:
    """Takes the permissions of group and others from a file of ours; leaves those of other users
    alone, which only their owners can change."""
    with suppress(OSError):
        mode = path.stat().st_mode
        if stat.S_ISREG(mode) and mode & OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)


def is_open_to_others(path: Path) -> bool:
    """Whether group or others may read the file."""
    try:
        return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return False
