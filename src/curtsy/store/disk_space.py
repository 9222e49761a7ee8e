"""Whether there is room to write: a full disk shows in no reading."""

import asyncio
import math
import os
import time
from pathlib import Path

from curtsy.errors import StoreNearlyFull

FLOOR_BYTES = 2**20
"""With less, the next commits of a SQLite file fail: its log grows by some pages each."""
REMEMBERED_SECONDS = 60.0
"""A write that failed for want of space counts this long, unless a later one succeeds."""

LOOK_EVERY_SECONDS = 1.0


def free_bytes(database: Path) -> int | None:
    """Returns the room on the file's disk for this user; None: it cannot be told."""
    try:
        found = os.statvfs(database.absolute().parent)
    except OSError:
        return None
    free = found.f_bfree if os.geteuid() == 0 else found.f_bavail
    return free * found.f_frsize


class Reserve:
    """The space on a disk that new work must leave free, looked at once a second at most."""

    def __init__(self, database: Path | None, size: int) -> None:
        """Without a database file there is no disk to look at."""
        self._database, self._size = database, size
        self._looked_at = -math.inf
        self._missing: int | None = None

    async def free_if_missing(self) -> int | None:
        """Returns how much is free if that is less than the reserve; None: there is room."""
        if self._database is None or not self._size:
            return None
        now = time.monotonic()
        if now - self._looked_at >= LOOK_EVERY_SECONDS:
            self._looked_at = now
            free = await asyncio.to_thread(free_bytes, self._database)
            self._missing = free if free is not None and free < self._size else None
        return self._missing

    async def require(self) -> None:
        """Raises `StoreNearlyFull`."""
        free = await self.free_if_missing()
        if free is not None:
            raise StoreNearlyFull(free, self._size)


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
