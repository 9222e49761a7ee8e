"""Measures a worker's memory at each heartbeat, and reports when it stays above its limit."""

import ctypes
import gc
import sys
from collections.abc import Callable

FIRST_AFTER = 60_000
"""Milliseconds that a worker may live before its memory is judged: one that needs more than its
limit by nature restarts once a minute, and not without end."""
MEASUREMENTS = 3
"""A peak is no growth: so many measurements in a row are above the limit before it counts."""


class MemoryWatch:
    """Called at each heartbeat, in its thread. Calls `on_exceeded` with the bytes, in the same
    thread, when the memory has been above the limit at some measurements in a row, and again only
    after it was below."""

    def __init__(
        self, *, limit: int | None, measure: Callable[[], int | None],
        monotonic: Callable[[], int], on_exceeded: Callable[[int], None],
    ) -> None:  # fmt: skip
        self._limit, self._measure, self._on_exceeded = limit, measure, on_exceeded
        self._monotonic, self._began = monotonic, monotonic()
        self._above, self._is_reported = 0, False

    def __call__(self) -> int | None:
        """Returns the memory in bytes; None: this system does not tell."""
        used = self._measure()
        if used is None or self._limit is None:
            return used
        if used > self._limit and not self._above:
            _give_back()
            used = self._measure() or 0
        self._judge(used, is_above=used > self._limit)
        return used

    def _judge(self, used: int, *, is_above: bool) -> None:
        if not is_above:
            self._above, self._is_reported = 0, False
            return
        self._above += 1
        is_young = self._monotonic() - self._began < FIRST_AFTER
        if self._above >= MEASUREMENTS and not (is_young or self._is_reported):
            self._is_reported = True
            self._on_exceeded(used)


def _give_back() -> None:
    """Collects garbage and returns free memory to the system, which the C library keeps else."""
    gc.collect()
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)
