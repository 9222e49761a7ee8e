"""Evaluates a site's log of one run: duration, gaps that were too short, order of priorities.

Gaps are measured by the kernel's timestamps of leaving packets. Capturing them needs root; without
it, the site's own timestamps are used, which may be late by two ticks of the kernel.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.databases import Departures
from curtsy.demo.access_log import TICK_MS
from curtsy.demo.truth import NANOSECONDS, Entry, gap

ROBOTS = "/robots.txt"
SITE_LATE = 2 * TICK_MS / 1000
KERNEL_LATE = 0.001


@dataclass(frozen=True, slots=True)
class Manners:
    requests: int
    makespan: float
    """Seconds from the first start to the last, over all hosts."""
    gaps: int
    too_close: int
    judged_by_site: int
    """Gaps without timestamps of the kernel."""
    smallest_gap: float
    right_pairs: int
    pairs: int
    """Pairs of a high and a low page of the same host."""

    @property
    def order(self) -> float:
        return 100 * self.right_pairs / self.pairs

    def __str__(self) -> str:
        return (
            f"{self.requests} requests in {self.makespan:.2f} s, {self.too_close} of {self.gaps} "
            f"gaps too short, the smallest {1000 * self.smallest_gap:.1f} ms "
            f"({self.judged_by_site} by the site's own stamps), "
            f"{self.order:.1f} % of the pairs in order"
        )


def manners(
    entries: Sequence[Entry], departures: Departures, *, delay: float, high: Collection[str]
) -> Manners:
    """`high` are the paths with high priority."""
    hosts = _by_host(entries)
    judged = [_gap(pair, departures) for of_host in hosts.values() for pair in pairwise(of_host)]
    right = [_in_order(of_host, high) for of_host in hosts.values()]
    return Manners(
        requests=len(entries),
        makespan=(max(e.at for e in entries) - min(e.at for e in entries)) / NANOSECONDS,
        gaps=len(judged),
        too_close=sum(seconds < delay - late for seconds, late in judged),
        judged_by_site=sum(late == SITE_LATE for _seconds, late in judged),
        smallest_gap=min(seconds for seconds, _late in judged),
        right_pairs=sum(held for held, _all in right),
        pairs=sum(pairs for _held, pairs in right),
    )


def _by_host(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    hosts: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: (entry.at, entry.n)):
        hosts[entry.host].append(entry)
    return hosts


def _gap(pair: tuple[Entry, Entry], departures: Departures) -> tuple[float, float]:
    """Seconds, and their possible error."""
    left = departures.gap(*pair)
    return (gap(*pair), SITE_LATE) if left is None else (left, KERNEL_LATE)


def _in_order(of_host: Sequence[Entry], high: Collection[str]) -> tuple[int, int]:
    """The pairs of a high and a low page in which the high one came first, and all pairs."""
    is_high = [entry.path in high for entry in _first_of_each(of_host)]
    right, lows_left = 0, is_high.count(False)
    for one in is_high:
        if one:
            right += lows_left
        else:
            lows_left -= 1
    return right, is_high.count(True) * is_high.count(False)


def _first_of_each(of_host: Sequence[Entry]) -> Iterator[Entry]:
    seen = {ROBOTS}
    for entry in of_host:
        if entry.path not in seen:
            seen.add(entry.path)
            yield entry
