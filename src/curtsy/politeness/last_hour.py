"""The requests of the last hour, remembered well enough to say when there is room for another."""

from collections import deque
from collections.abc import Iterable, Iterator

from curtsy.clock import HOUR

REMEMBERED = 600
"""So many are remembered one by one; of more, those of a six-hundredth of an hour together, as
if all had come when the last of them did."""
ROUGHLY = 12
"""Where there is no limit, but may be one soon: those of a twelfth of an hour together."""


class LastHour:
    __slots__ = ("_starts", "total")

    def __init__(self, starts: Iterable[tuple[int, int]] = ()) -> None:
        self._starts = deque(starts)
        """When, and how many; the oldest first."""
        self.total = sum(many for _at, many in self._starts)

    def copy(self) -> "LastHour":
        return LastHour(self._starts)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._starts)

    def add(self, now: int, most: int, many: int = 1) -> None:
        """`most` is the limit of the hour; 0: there is none."""
        self.forget(now)
        self.total += many
        if not 0 < most <= REMEMBERED:
            grain = HOUR // (REMEMBERED if most else ROUGHLY)
            if self._starts and self._starts[-1][0] // grain == now // grain:
                many += self._starts.pop()[1]
        self._starts.append((now, many))

    def forget(self, now: int) -> None:
        """What is more than an hour ago by now."""
        while self._starts and self._starts[0][0] < now - HOUR:
            self.total -= self._starts.popleft()[1]

    def free_at(self, most: int) -> int | None:
        """When the hour before it holds fewer than `most`; None: it does so by now."""
        over, at = self.total - most, None
        for start, many in self._starts:
            if over < 0:
                break
            over -= many
            at = start + HOUR + 1
        return at

    def before(self, moment: int) -> list[list[int]]:
        """How long before that moment, and how many; the oldest first."""
        return [[moment - at, many] for at, many in self._starts]

    @classmethod
    def since(cls, moment: int, before: Iterable[Iterable[int]]) -> "LastHour":
        return cls((moment - ago, many) for ago, many in before)
