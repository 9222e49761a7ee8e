"""What a site saw of one run: how long it took, what came too close, whether the order held.

The kernel's stamps of packets as they leave are the judge of every gap. Where it may not be asked
(it takes root), the site's own stamps are, which may be late by two ticks of the kernel.
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
    """Gaps of which the kernel had nothing to say."""
    smallest_gap: float
    right_pairs: int
    pairs: int
    """A high and a low page of the same host."""

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
    """`high` are the paths that should go first."""
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
    """Seconds, and how far they may be off."""
    left = departures.gap(*pair)
    return (gap(*pair), SITE_LATE) if left is None else (left, KERNEL_LATE)


def _in_order(of_host: Sequence[Entry], high: Collection[str]) -> tuple[int, int]:
    """Of all pairs of a high and a low page: in how many the high one came first."""
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
