"""The part of the backend for cleanups: one at a time, in the background of this process."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from curtsy.api.timed_store import TimedStore
from curtsy.clock import Clock
from curtsy.errors import CurtsyError, WrongState
from curtsy.logs import logger
from curtsy.maintenance.cleanup import Cleanup

log = logger("api")

SECONDS_FOR_A_SHORT_ONE = 5.0
"""A request waits that long for its cleanup; a longer one goes on behind it."""
STOPPED = "It was stopped with this process; the next cleanup continues where it was."
FAILED = "It failed; what it had deleted is gone. The log of this process has the reason."


@dataclass(slots=True)
class CleanupRun:
    """A cleanup of this process."""

    state: Literal["running", "done", "failed"]
    days: int
    started_at: int
    ended_at: int | None = None
    message: str | None = None


class CleanupBackend:
    """Starts a cleanup and shows the last one."""

    def __init__(self, store: TimedStore, clock: Clock, *, keep_days: int) -> None:
        self._timed, self._clock, self._keep_days = store, clock, keep_days
        # Somebody asks for it, so even a clock that went ahead is trusted.
        self._cleanup = Cleanup(store=store.store, clock=clock, keep_days=keep_days,
                                trusts_clock=True)  # fmt: skip
        self.last: CleanupRun | None = None

    def deleted(self) -> dict[str, int]:
        """What the last cleanup has deleted so far."""
        return self._cleanup.deleted.as_dict()

    async def start(self, days: int | None) -> CleanupRun:
        """Starts a cleanup, and returns it when it has ended or after a few seconds. Raises
        `WrongState` while one runs."""
        if self.last is not None and self.last.state == "running":
            raise WrongState("A cleanup of this process", "running", "started again")
        run = CleanupRun("running", days or self._keep_days, self._clock.now())
        self.last = run
        task = self._timed.start(self._run(run))
        await asyncio.wait([task], timeout=SECONDS_FOR_A_SHORT_ONE)
        return run

    async def _run(self, run: CleanupRun) -> None:
        state: Literal["done", "failed"] = "failed"
        message = STOPPED
        try:
            message, state = await self._cleanup.run(run.days), "done"
        except CurtsyError as error:  # such as a store that is away
            message = f"{error} What was deleted before is gone; start it again."
        except Exception:
            log.exception("cleanup_failed")
            message = FAILED
        finally:
            run.state, run.message, run.ended_at = state, message, self._clock.now()
