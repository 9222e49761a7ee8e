"""The requests of the last hour, stored precisely enough to enforce the hourly limit."""

from collections import deque
from collections.abc import Iterable, Iterator

from curtsy.clock import HOUR

REMEMBERED = 600
"""Up to this limit requests are stored one by one; above it, those of each six-hundredth of an hour
are stored together, at the time of the last of them."""
ROUGHLY = 12
"""Parts of an hour whose requests are stored together where there is no limit (yet)."""


class LastHour:
    __slots__ = ("_starts", "total")

    def __init__(self, starts: Iterable[tuple[int, int]] = ()) -> None:
        self._starts = deque(starts)
        """Time and number; the oldest first."""
        self.total = sum(many for _at, many in self._starts)

    def copy(self) -> "LastHour":
        return LastHour(self._starts)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._starts)

    def add(self, now: int, most: int, many: int = 1) -> None:
        """Counts `many` requests now. `most` is the hourly limit; 0: there is none."""
        self.forget(now)
        self.total += many
        if not 0 < most <= REMEMBERED:
            grain = HOUR // (REMEMBERED if most else ROUGHLY)
            if self._starts and self._starts[-1][0] // grain == now // grain:
                many += self._starts.pop()[1]
        self._starts.append((now, many))

    def forget(self, now: int) -> None:
        """Drops requests that are more than an hour old."""
        while self._starts and self._starts[0][0] < now - HOUR:
            self.total -= self._starts.popleft()[1]

    def free_at(self, most: int) -> int | None:
        """When the past hour has fewer than `most` requests; None: it has already."""
        over, at = self.total - most, None
        for start, many in self._starts:
            if over < 0:
                break
            over -= many
            at = start + HOUR + 1
        return at

    def before(self, moment: int) -> list[list[int]]:
        """Span before that moment and number; the oldest first. The inverse of `since`."""
        return [[moment - at, many] for at, many in self._starts]

    @classmethod
    def since(cls, moment: int, before: Iterable[Iterable[int]]) -> "LastHour":
        return cls((moment - ago, many) for ago, many in before)
