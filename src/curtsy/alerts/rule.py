"""A rule: which metric it watches, where its limits are, and how its alerts are announced."""

from dataclasses import dataclass, fields
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

from curtsy.alerts.metric import TEXTS, Metric, shown, span_shown
from curtsy.alerts.state_machine import Bounds
from curtsy.clock import HOUR


class Severity(IntEnum):
    INFO = 1
    WARNING = 2
    CRITICAL = 3

    @classmethod
    def named(cls, name: str) -> "Severity":
        return cls[name.upper()]

    @property
    def word(self) -> str:
        return self.name.lower()


class Measure(NamedTuple):
    """What has to be read for a rule; rules with the same measure share one reading."""

    metric: Metric
    window: int
    """Milliseconds; 0 for metrics that have none."""
    at_least: int
    """With fewer pages in the window, the value is unknown."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Spans are milliseconds."""

    name: str
    metric: Metric
    above: float | None = None
    """The alert fires above this value; otherwise it fires below `below`."""
    below: float | None = None
    clear: float | None = None
    """The value at which a firing alert is resolved; None: the threshold."""
    hold: int = 0
    severity: Severity = Severity.WARNING
    window: int = HOUR
    at_least: int = 20
    only: tuple[str, ...] = ()
    """Patterns of the subjects that the rule watches; empty: all."""
    excluded: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    """Empty: every channel that takes messages of this severity."""
    enabled: bool = True

    @cached_property
    def bounds(self) -> Bounds:
        threshold = self.threshold
        clear = threshold if self.clear is None else self.clear
        return Bounds(self.above is not None, threshold, clear, self.hold)

    @property
    def threshold(self) -> float:
        threshold = self.above if self.above is not None else self.below
        assert threshold is not None, "a rule has a threshold"
        return threshold

    @property
    def measure(self) -> Measure:
        if not TEXTS[self.metric].has_window:
            return Measure(self.metric, 0, 0)
        return Measure(self.metric, self.window, self.at_least)

    def watches(self, subject: str) -> bool:
        wanted = not self.only or any(fnmatchcase(subject, pattern) for pattern in self.only)
        return wanted and not any(fnmatchcase(subject, pattern) for pattern in self.excluded)

    @property
    def problems(self) -> list[str]:
        """What is wrong with the rule, each as a sentence without its first word."""
        found = []
        if (self.above is None) == (self.below is None):
            return ["needs exactly one of above and below"]
        if self.clear is not None and self.bounds.is_bad(self.clear):
            side = "above" if self.above is not None else "below"
            found.append(f"has a clear ({self.clear:g}) {side} its threshold "
                         f"({self.threshold:g})")  # fmt: skip
        most = TEXTS[self.metric].most
        highest = max(self.threshold, self.bounds.clear)
        if most is not None and highest > most:
            found.append(f"has a limit of {highest:g}, but {self.metric} is at most {most:g}")
        if TEXTS[self.metric].subject is None and (self.only or self.excluded):
            found.append(f"only and except have no meaning for {self.metric}: it has one value")
        return found

    def values(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def phrase(self, subject: str) -> str:
        text = TEXTS[self.metric].phrase
        return text.replace("{window}", span_shown(self.window)).replace("{subject}", subject)

    def to_do(self, subject: str) -> str:
        return TEXTS[self.metric].to_do.replace("{subject}", subject)

    def is_bad(self, subject: str, value: float | None) -> str:
        """A sentence about a firing or pending alert."""
        side = "above" if self.above is not None else "below"
        return f"The {self.phrase(subject)} is {self._shown(value)}, {side} {self.limit}."

    def is_good(self, subject: str, value: float | None) -> str:
        """A sentence about a resolved alert; None: its subject is gone, or its rule."""
        if value is None:
            return f"The {self.phrase(subject)} is watched no longer."
        return f"The {self.phrase(subject)} is {self._shown(value)} again."

    @property
    def limit(self) -> str:
        return self._shown(self.threshold)

    def _shown(self, value: float | None) -> str:
        return "unknown" if value is None else shown(value, TEXTS[self.metric].unit)
