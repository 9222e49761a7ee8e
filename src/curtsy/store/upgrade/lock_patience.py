"""Repeats a change of the schema that found a table locked, with pauses in which work goes on."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from curtsy.errors import UpgradeWaits
from curtsy.logs import logger
from curtsy.store.connection import Connection
from curtsy.store.database_errors import driver_error
from curtsy.store.store import Store

log = logger("store")

P = ParamSpec("P")
T = TypeVar("T")

PAUSE_SECONDS = 1.5
"""Five times as long as a migration waits for a lock: so work is held up for a sixth of the time at
most, while another transaction holds what the migration needs."""
UPGRADE_PAUSE_SECONDS = 0.1
REPORT_EVERY = 10
"""Tries."""
LOCK_NOT_AVAILABLE = "55P03"
SHOWN = 3
_OLDEST = """
    SELECT pid, coalesce(nullif(application_name, ''), 'a client without a name') AS program,
           CAST(extract(epoch FROM clock_timestamp() - xact_start) AS bigint) AS seconds
    FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
    ORDER BY xact_start LIMIT 10
    """


class Busy(Exception):
    """A lock is held by somebody else. `of_upgrade`: it is that of another upgrade."""

    def __init__(self, *, of_upgrade: bool = False) -> None:
        self.of_upgrade = of_upgrade
        super().__init__()


def busy_if_locked(work: Callable[P, T]) -> Callable[P, T]:
    """Makes the work raise `Busy` for a lock that it waited for in vain."""

    @wraps(work)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return work(*args, **kwargs)
        except Exception as error:
            if getattr(driver_error(error), "sqlstate", None) == LOCK_NOT_AVAILABLE:
                raise Busy from error
            raise

    return wrapped


class LockPatience:
    """So many seconds of waiting for locks, for one upgrade in all."""

    def __init__(self, store: Store, seconds: float) -> None:
        self._store, self._seconds = store, seconds
        self._ends_at = time.monotonic() + seconds

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._ends_at - time.monotonic())

    async def retry(self, change: Callable[[], Awaitable[T]], *, what: str) -> T:
        """Runs the change until it finds no lock in its way; `what` is its version. Raises
        `UpgradeWaits` in the end."""
        tries = 0
        while True:
            try:
                return await change()
            except Busy as busy:
                tries += 1
                if not self.seconds_left:
                    raise await self._gives_up(what, busy) from busy
                if not busy.of_upgrade and tries % REPORT_EVERY == 1:
                    log.warning("upgrade_waits_for_lock", schema=what, tries=tries,
                                oldest=await self._oldest())  # fmt: skip
                pause = UPGRADE_PAUSE_SECONDS if busy.of_upgrade else PAUSE_SECONDS
            await asyncio.sleep(min(pause * random.uniform(0.8, 1.2), self.seconds_left))

    async def _gives_up(self, what: str, busy: Busy) -> UpgradeWaits:
        state = f"The upgrade to schema {what} was not made, and the database works as before"
        again = "then run `curtsy db upgrade` again"
        if busy.of_upgrade:
            return UpgradeWaits(
                f"{state}: another upgrade has run for {self._seconds:g} s. Let it end, {again}."
            )
        return UpgradeWaits(
            f"{state}: other transactions have used its tables for {self._seconds:g} s. The oldest "
            f"are {await self._oldest()}: let them end, {again}."
        )

    async def _oldest(self) -> str:
        """The oldest open transactions, to which the lock may belong."""

        def read(connection: Connection) -> str:
            rows = connection.execute(_OLDEST).all()
            said = [f"process {r.pid} ({r.program}, for {r.seconds} s)" for r in rows]
            return ", ".join(said[:SHOWN]) or "no longer there"

        return await self._store.read(read)
