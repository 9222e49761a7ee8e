"""Measures whether a site is under strain: whether its answers take longer than usual."""

from dataclasses import dataclass

NOTICED_FROM = 500
"""Milliseconds: a site that answers faster than this is not under strain."""
CLIMBED = 2.0
"""Strain begins where recent answers take this many times as long as usual."""
MOST = 8.0
"""The largest stretch."""
MEMORY = 64
"""The number of answers over which the usual time is averaged."""


@dataclass(slots=True)
class Strain:
    usual: float = 0.0
    """Milliseconds to the first byte: a mean in which recent answers weigh more."""
    recent: float = 0.0
    """The same over the last few answers."""
    samples: int = 0
    """Answers so far, up to MEMORY."""

    def observe(self, ms: float) -> None:
        ms = max(1.0, ms)
        if not self.samples:
            self.recent = ms
        self.samples = min(MEMORY, self.samples + 1)
        self.recent += (ms - self.recent) / 4
        self.usual += (ms - self.usual) / self.samples

    def stored(self) -> list[int]:
        return [round(self.usual), round(self.recent), self.samples]

    @property
    def stretch(self) -> float:
        """The factor by which delays are longer now."""
        if self.recent < NOTICED_FROM or self.recent < CLIMBED * self.usual:
            return 1.0
        return min(MOST, self.recent / self.usual)
