"""How a site bears us: whether its answers take longer than they used to."""

from dataclasses import dataclass

NOTICED_FROM = 500
"""Milliseconds: what answers faster than this is not under strain, whatever it was before."""
CLIMBED = 2.0
MOST = 8.0
MEMORY = 64
"""Answers: what was usual before is forgotten in about so many."""


@dataclass(slots=True)
class Strain:
    usual: float = 0.0
    """Milliseconds to the first byte: the mean of all answers, of late ones more than of old."""
    recent: float = 0.0
    """The same over the last few."""
    samples: int = 0
    """Answers, until there are enough of them that one more hardly matters."""

    def heard(self, ms: float) -> None:
        ms = max(1.0, ms)
        if not self.samples:
            self.recent = ms
        self.samples = min(MEMORY, self.samples + 1)
        self.recent += (ms - self.recent) / 4
        self.usual += (ms - self.usual) / self.samples

    def kept(self) -> list[int]:
        return [round(self.usual), round(self.recent), self.samples]

    @property
    def stretch(self) -> float:
        """By how much every delay is longer for now."""
        if self.recent < NOTICED_FROM or self.recent < CLIMBED * self.usual:
            return 1.0
        return min(MOST, self.recent / self.usual)
