"""Durations counted in fixed buckets."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Self

from curtsy.clock import DAY, HOUR, MINUTE

BOUNDS = (
    *(digit * scale for scale in (1, 10, 100, 1_000) for digit in (5, 7, 10, 15, 20, 30)),
    50_000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE,
    HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY,
)  # fmt: skip
"""The largest duration of each bucket, in milliseconds; what is longer is in one bucket more.
Stored rows number the buckets, so a change of the bounds would change what they mean."""
BUCKETS = len(BOUNDS) + 1


def bucket_of(ms: int) -> int:
    return bisect_left(BOUNDS, ms)


@dataclass(frozen=True, slots=True)
class Histogram:
    counts: Mapping[int, int] = field(default_factory=dict)
    """Durations by the number of their bucket; a bucket without any is left out."""
    sum_ms: int = 0

    @classmethod
    def of(cls, counts: Sequence[int], sum_ms: int) -> Self:
        """From the numbers of all buckets."""
        return cls({bucket: count for bucket, count in enumerate(counts) if count}, sum_ms)

    @property
    def number(self) -> int:
        return sum(self.counts.values())

    @property
    def mean(self) -> float | None:
        return self.sum_ms / self.number if self.counts else None

    def quantile(self, part: float) -> int | None:
        """Returns milliseconds that this part of the durations does not exceed, interpolated within
        a bucket; None without durations. What is beyond the last bound counts as that bound."""
        rank, below = part * self.number, 0
        for bucket, count in sorted(self.counts.items()):
            if below + count >= rank:
                low = BOUNDS[bucket - 1] if bucket else 0
                high = BOUNDS[min(bucket, len(BOUNDS) - 1)]
                return round(low + (high - low) * max(0.0, rank - below) / count)
            below += count
        return None

    def cumulative(self) -> Iterator[tuple[int | None, int]]:
        """Yields every bound with the number of durations up to it; the last has no bound."""
        counts = (self.counts.get(bucket, 0) for bucket in range(BUCKETS))
        return zip((*BOUNDS, None), accumulate(counts), strict=True)
