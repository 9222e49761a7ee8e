"""Measures how steady the machine is: times a fixed piece of pure Python repeatedly."""

import time
from dataclasses import dataclass, field
from statistics import median

LOOPS = 60_000
TIMES = 7


def fixed_work() -> int:
    total = 0
    seen: dict[int, int] = {}
    for i in range(LOOPS):
        total = (total * 31 + i) & 0xFFFFFF
        seen[total & 1023] = i
    return total + len(seen)


@dataclass(slots=True)
class Calibration:
    """Measured before the first round and after each; its spread is the noise of the comparison."""

    times: list[float] = field(default_factory=list)

    def measure(self) -> None:
        for _ in range(TIMES):
            began = time.perf_counter()
            fixed_work()
            self.times.append(time.perf_counter() - began)

    def sentence(self) -> str:
        middle = median(self.times)
        low, high = min(self.times) / middle, max(self.times) / middle
        return (
            f"calibration: {middle * 1000:.1f} ms median of {len(self.times)}, "
            f"from {low:.2f} to {high:.2f} of it"
        )
