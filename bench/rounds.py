"""Contestants take turns, A B C A B C …, so that a slow minute of the machine hits them all."""

from collections.abc import Callable, Mapping
from statistics import median

from bench.calibration import Calibration


def interleaved(
    contestants: Mapping[str, Callable[[], float]], rounds: int
) -> dict[str, list[float]]:
    """Each contestant's measurement in every round."""
    calibration = Calibration()
    calibration.measure()
    measured: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name, measure in contestants.items():
            measured[name].append(measure())
        calibration.measure()
        seen = ", ".join(f"{name} {values[-1]:,.1f}" for name, values in measured.items())
        print(f"  round {number + 1}: {seen}", flush=True)
    print(f"  {calibration.sentence()}", flush=True)
    return measured


def medians(measured: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: median(values) for name, values in measured.items()}


def ratio(measured: Mapping[str, list[float]], ours: str, theirs: str) -> float:
    """The median of the ratios of each round, so that measurements close in time are compared."""
    pairs = zip(measured[ours], measured[theirs], strict=True)
    return median(a / b for a, b in pairs)
