"""Reads the space that the database takes and has left, and when it will be used up."""

from collections import deque

from curtsy.alerts.evaluation import Values
from curtsy.alerts.metric import LONGEST_FORECAST
from curtsy.alerts.readings.system import MEGABYTE
from curtsy.clock import HOUR, MINUTE
from curtsy.store.space import Space

SAMPLE_EVERY = 5 * MINUTE
LEAST_SPAN = HOUR // 2
"""A forecast needs samples of so long a time."""


class FreeSpace:
    """The free space of the last hour, by a clock that cannot jump."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque(maxlen=HOUR // SAMPLE_EVERY + 1)

    def add(self, space: Space, monotonic: int) -> None:
        if space.free_bytes is None:
            return
        if not self._samples or monotonic - self._samples[-1][0] >= SAMPLE_EVERY:
            self._samples.append((monotonic, space.free_bytes))

    def hours_until_full(self, space: Space, monotonic: int) -> float | None:
        if space.free_bytes is None or not self._samples:
            return None
        at, free = self._samples[0]
        if monotonic - at < LEAST_SPAN:
            return None
        lost = free - space.free_bytes
        if lost <= 0:
            return LONGEST_FORECAST
        hours: float = space.free_bytes / lost * (monotonic - at) / HOUR
        return min(LONGEST_FORECAST, hours)


def megabytes(size: int | None) -> Values:
    return Values({"": None if size is None else size / MEGABYTE})
