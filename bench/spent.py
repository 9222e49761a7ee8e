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
    found = _family(root)
    if not with_root:
        found.pop(root, None)
    # user, system, and both of buried children
    return sum(sum(map(int, fields[11:15])) for fields in found.values()) / _TICKS


def descendants(root: int) -> list[int]:
    """The children of a process, their children, and so on."""
    return [number for number in _family(root) if number != root]


def _family(root: int) -> dict[int, list[str]]:
    """The fields of /proc/*/stat behind the name, by number."""
    found: dict[int, list[str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(stat.parent.name)] = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
    family = {root}
    for number in sorted(found):  # a child's number may be the lower one after a wrap: rare
        if int(found[number][1]) in family:
            family.add(number)
    return {number: found[number] for number in family if number in found}
