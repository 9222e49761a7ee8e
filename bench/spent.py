"""Measures what a contestant spent: wall-clock and processor seconds."""

import os
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


class Spent:
    """Counts from its creation, in its own process."""

    def __init__(self) -> None:
        self._began, self._worked = time.perf_counter(), time.process_time()

    def until_now(self) -> dict[str, float]:
        return {
            "seconds": time.perf_counter() - self._began,
            "cpu": time.process_time() - self._worked,
        }


def processor_time(root: int, *, with_root: bool = True) -> float:
    """Processor seconds of a process and all its children, ended ones included."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        number = int(stat.parent.name)
        parents[number] = int(fields[1])
        ticks[number] = sum(map(int, fields[11:15]))  # user, system, and both of buried children
    family = {root}
    for number in sorted(parents):  # a child's number may be the lower one after a wrap: rare
        if parents[number] in family:
            family.add(number)
    return sum(ticks.get(n, 0) for n in family if with_root or n != root) / _TICKS
