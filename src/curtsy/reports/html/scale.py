"""Scales of charts: round ticks, and places as percents of the width or pixels of the height."""

from math import floor, log10
from typing import NamedTuple

from curtsy.clock import DAY, HOUR, MINUTE

STEPS = (1, 2, 2.5, 5, 10)
TIME_STEPS = (5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR,
              12 * HOUR, DAY, 2 * DAY, 5 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 60 * DAY, 90 * DAY,
              180 * DAY, 365 * DAY)  # fmt: skip


class Scale(NamedTuple):
    """Maps values from `low` to `high` to places from `first` to `last`."""

    low: float
    high: float
    first: float
    last: float

    def __call__(self, value: float) -> float:
        if self.high <= self.low:
            return self.first
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.first + part * (self.last - self.first)


def round_ticks(highest: int, *, most: int = 4) -> list[float]:
    """Ticks from zero at round numbers; the last is the first that is not below `highest`."""
    if highest <= 1:
        return [0.0, 1.0]
    rough = highest / most
    magnitude = 10.0 ** floor(log10(rough))
    step = next(s * magnitude for s in STEPS if s * magnitude >= rough * (1 - 1e-9))
    step = max(1.0, float(round(step)))
    ticks = [0.0]
    while ticks[-1] < highest * (1 - 1e-9):
        ticks.append(len(ticks) * step)
    return ticks


def time_ticks(since: int, until: int, *, most: int = 5) -> list[int]:
    """Round instants (UTC) within the period."""
    step = next((s for s in TIME_STEPS if (until - since) / s <= most), TIME_STEPS[-1])
    step *= max(1, -(-(until - since) // (step * most)))
    first = -(-since // step) * step
    return list(range(first, until + 1, step))
