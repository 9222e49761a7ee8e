"""The supervisor: keeps a number of worker processes running, and ends them in order."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from signal import Signals
from typing import Self

from curtsy.config import Settings
from curtsy.logs import logger
from curtsy.model.worker_places import WorkerPlace
from curtsy.processes.shares import Share, longest_stop
from curtsy.processes.worker_process import WorkerProcess, environment_of

log = logger("app")

LOOK_SECONDS = 0.2
"""Between two looks at the processes."""
WAKE_EVERY_SECONDS = 0.02
"""At most so often: each time every process looks for work."""
STEADY_SECONDS = 60.0
"""A process that lived so long ended for a reason of its own: the next starts at once."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30.0
REPORT_AFTER = 3
"""So many short lives in a row are reported as a failure."""

Start = Callable[[], WorkerProcess]


@dataclass(slots=True)
class _Place:
    name: str
    start: Start
    process: WorkerProcess | None = None
    started_at: float = 0.0
    next_start_at: float = 0.0
    short_lives: int = 0


class Supervisor:
    """A part of a process. It starts a process again that ended; one that ends soon after its
    start, again and again, it starts less and less often."""

    def __init__(
        self, starts: Sequence[tuple[str, Start]], *, seconds: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`starts` are the names of the places and what starts a process there. After a stop the
        processes have `seconds` to end by themselves."""
        self._places = [_Place(name, start) for name, start in starts]
        self._seconds, self._now = seconds, now
        self._kill_at: float | None = None
        self._ended = asyncio.Event()
        self._rest: asyncio.TimerHandle | None = None
        self._wakes_again = False
        self.recorded = 0
        """Results that processes reported when they ended."""

    @classmethod
    def of(
        cls, settings: Settings, shares: Sequence[Share], *,
        on_commit: Callable[[], None] = lambda: None,
    ) -> Self:  # fmt: skip
        """Supervises a worker for each share; `on_commit` is called when one has stored results."""
        starts: list[tuple[str, Start]] = []
        for number, share in enumerate(shares, 1):
            place = str(WorkerPlace(number, len(shares), os.getpid()))
            environment = environment_of(share.applied_to(settings))
            starts.append((place, partial(WorkerProcess, place, environment, on_commit)))
        return cls(starts, seconds=longest_stop(settings))

    @property
    def pids(self) -> list[int]:
        return [place.process.pid for place in self._places if place.process is not None]

    async def run(self) -> None:
        try:
            while not self.step():  # noqa: ASYNC110 - waits for processes, which tell no event
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self.kill()
            self._ended.set()

    async def stop(self) -> None:
        """Returns once all processes have ended."""
        self.begin_stop()
        await self._ended.wait()

    def begin_stop(self) -> None:
        """Asks all processes to end; from now on none is started."""
        self._kill_at = self._now() + self._seconds
        for place in self._places:
            if place.process is not None:
                place.process.ask_to_end()

    def wake(self) -> None:
        """Tells all processes that new work was stored: the first call at once, those that follow
        within a moment together."""
        if self._rest is not None:
            self._wakes_again = True
            return
        for place in self._places:
            if place.process is not None:
                place.process.wake()
        self._rest = asyncio.get_running_loop().call_later(WAKE_EVERY_SECONDS, self._rested)

    def _rested(self) -> None:
        self._rest = None
        if self._wakes_again:
            self._wakes_again = False
            self.wake()

    def kill(self) -> None:
        """Kills all processes at once."""
        for place in self._places:
            if place.process is not None:
                place.process.kill()

    def step(self) -> bool:
        """Notices processes that ended and starts those that are missing. Returns True when all
        have ended after a stop."""
        for place in self._places:
            if place.process is not None and place.process.status is not None:
                self._bury(place, place.process)
            if self._kill_at is None and place.process is None:
                self._start(place)
        if self._kill_at is None:
            return False
        if self._now() >= self._kill_at:
            self._kill_late()
        return not self.pids

    def _start(self, place: _Place) -> None:
        if self._now() < place.next_start_at:
            return
        place.started_at = self._now()
        try:
            place.process = place.start()
        except OSError as error:
            self._pause(place, reason=str(error))
        else:
            log.info("worker_process_started", process=place.name, pid=place.process.pid)

    def _bury(self, place: _Place, process: WorkerProcess) -> None:
        place.process = None
        self.recorded += process.close()
        if self._kill_at is None:
            self._pause(place, reason=_ended_by(process.status))

    def _pause(self, place: _Place, *, reason: str) -> None:
        lived = self._now() - place.started_at
        place.short_lives = place.short_lives + 1 if lived < STEADY_SECONDS else 0
        pause = _pause_after(place.short_lives)
        place.next_start_at = self._now() + pause
        log.warning("worker_process_ended", process=place.name, reason=reason,
                    lived_seconds=round(lived, 1), starts_again_in_seconds=pause)  # fmt: skip
        if place.short_lives >= REPORT_AFTER:
            log.error("worker_process_keeps_ending", process=place.name, meaning=(
                f"Worker process {place.name} has ended {place.short_lives} times soon after its "
                f"start; its own lines say why. The next start is in {pause:g} s."
            ))  # fmt: skip

    def _kill_late(self) -> None:
        for place in self._places:
            if place.process is not None:
                log.error("worker_process_killed", process=place.name, pid=place.process.pid,
                          meaning="it did not stop in time")  # fmt: skip
                place.process.kill()


def _pause_after(short_lives: int) -> float:
    """Seconds before the next start: none after a long life, else doubled each time."""
    if not short_lives:
        return 0.0
    # 2**10 times the first pause is longer than the longest
    return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(short_lives - 1, 10))


def _ended_by(status: int | None) -> str:
    if status is None or status >= 0:
        return f"exit code {status}"
    try:
        return Signals(-status).name
    except ValueError:  # most real-time signals have no name
        return f"signal {-status}"
