"""The life of an alert, as a pure function: inactive, pending, firing, resolved.

An alert never computes with instants. Its time in `pending` is a span that grows by the time
between two known values, at most by `LONGEST_STEP`: a clock that jumped, or a time in which nobody
evaluated, neither fires nor resolves an alert. An unknown value changes nothing.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, assert_never

from curtsy.clock import SECOND

LONGEST_STEP = 90 * SECOND
"""The longest time that one evaluation adds to the time in `pending`; some values are known once a
minute."""


class Phase(StrEnum):
    INACTIVE = "inactive"
    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class Gone:
    """In place of a value: the subject exists no longer, or nothing watches it any more."""

    def __repr__(self) -> str:
        return "GONE"


GONE: Final = Gone()
Reading = float | Gone | None
"""None: unknown, because the store was away or there is too little to compute a value from."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """When the value of a rule is bad, and when it is good again. Between the two, nothing
    changes."""

    is_above: bool
    """The rule fires above its threshold; otherwise below."""
    threshold: float
    clear: float
    """Up to (or from) this value a firing alert is resolved."""
    hold: int
    """Milliseconds for which the value must be bad before the alert fires."""

    def is_bad(self, value: float) -> bool:
        return value > self.threshold if self.is_above else value < self.threshold

    def is_good(self, value: float) -> bool:
        return value <= self.clear if self.is_above else value >= self.clear


@dataclass(frozen=True, slots=True)
class AlertState:
    phase: Phase = Phase.INACTIVE
    held: int = 0
    """Milliseconds in `pending`."""


def elapsed(before: int, now: int, *, has_jumped: bool) -> int:
    """The time since the value was last known, as it counts for alerts."""
    return 0 if has_jumped else max(0, min(now - before, LONGEST_STEP))


def advance(state: AlertState, reading: Reading, bounds: Bounds, step: int) -> AlertState:
    """The state after an evaluation; `step` is the time since the one before."""
    if reading is None:
        return state
    bad = not isinstance(reading, Gone) and bounds.is_bad(reading)
    match state.phase:
        case Phase.INACTIVE | Phase.RESOLVED:
            return _pending(bounds, 0, state) if bad else state
        case Phase.PENDING:
            return _pending(bounds, state.held + step, state) if bad else AlertState()
        case Phase.FIRING:
            good = isinstance(reading, Gone) or bounds.is_good(reading)
            return AlertState(Phase.RESOLVED) if good else state
        case _:
            assert_never(state.phase)


def _pending(bounds: Bounds, held: int, state: AlertState) -> AlertState:
    if held >= bounds.hold:
        return AlertState(Phase.FIRING)
    return replace(state, phase=Phase.PENDING, held=held)
