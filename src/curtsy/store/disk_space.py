"""Whether there is room to write: a full disk shows in no reading."""

import os
from pathlib import Path

FLOOR_BYTES = 2**20
"""With less, the next commits of a SQLite file fail: its log grows by some pages each."""
REMEMBERED_SECONDS = 60.0
"""A write that failed for want of space counts this long, unless a later one succeeds."""


def free_bytes(database: Path) -> int | None:
    """Returns the room on the file's disk for this user; None: it cannot be told."""
    try:
        found = os.statvfs(database.absolute().parent)
    except OSError:
        return None
    free = found.f_bfree if os.geteuid() == 0 else found.f_bavail
    return free * found.f_frsize


class WriteFailures:
    """Remembers whether the last write failed because the disk was full."""

    def __init__(self) -> None:
        self._full_at: float | None = None

    def failed(self, now: float) -> None:
        self._full_at = now

    def succeeded(self) -> None:
        self._full_at = None

    def is_full(self, now: float) -> bool:
        return self._full_at is not None and now - self._full_at < REMEMBERED_SECONDS
