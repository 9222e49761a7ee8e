"""What becomes of a schedule that a scheduler looks at. Pure: `now` and the state are given."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from curtsy.clock import DAY, MINUTE, SECOND
from curtsy.timetable import Every, Rule, slot_after, slot_after_end, slots

GRACE = MINUTE
"""A slot that is late by more than this was missed."""
LOOK_AGAIN = 2 * SECOND
"""So often it is asked whether the run before has ended, where a slot waits for that."""
LONGEST_WINDOW = 7 * DAY
DEFAULT_WINDOW = DAY


class Overlap(StrEnum):
    """What becomes of a slot while the run before goes on."""

    SKIP = "skip"
    QUEUE_ONE = "queue_one"
    CANCEL_RUNNING = "cancel_running"
    ALLOW = "allow"


class CatchUp(StrEnum):
    """What becomes of slots that nobody fired in time."""

    LATEST = "latest"
    NONE = "none"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ScheduleState:
    rule: Rule
    seed: str
    overlap: Overlap
    catch_up: CatchUp
    window: int
    """Slots older than this are missed, whatever `catch_up` says."""
    next_fire_at: int | None
    waiting: int | None
    """A slot that waits for the run before it to end."""
    is_busy: bool
    """A run goes on."""
    ended_at: int
    """When the last run ended; of one that never ran, when the schedule was made."""


@dataclass(frozen=True, slots=True)
class Verdict:
    next_fire_at: int | None
    look_at: int | None
    """When to look again; None: never."""
    fire: int | None = None
    skipped: int | None = None
    waiting: int | None = None
    missed: Sequence[int] = ()
    long_missed: int | None = None
    """The first of those beyond the window; all from it on until the window are missed."""
    replaces: bool = False
    """What is to fire takes the place of a run that goes on: when that is cancelled."""


@dataclass(frozen=True, slots=True)
class _Due:
    fire: int | None
    next: int | None
    missed: Sequence[int] = ()
    long_missed: int | None = None


def judge(s: ScheduleState, now: int) -> Verdict:
    if isinstance(s.rule, Every) and s.rule.after_end:
        return _after_the_last_end(s, now)
    due = _due(s, now)
    fire, skipped, waiting, onward = due.fire, None, s.waiting, due.next
    replaces = False
    if not s.is_busy and waiting is not None:
        fire, waiting = waiting, fire
    elif s.is_busy and fire is not None:
        match s.overlap:
            case Overlap.ALLOW:
                pass
            case _ if s.catch_up is CatchUp.ALL and now - fire > GRACE:
                fire, onward = None, fire  # one after the other: it waits for its turn
            case Overlap.SKIP:
                fire, skipped = None, fire
            case Overlap.QUEUE_ONE if waiting is None:
                fire, waiting = None, fire
            case Overlap.QUEUE_ONE:
                fire, skipped = None, fire
            case Overlap.CANCEL_RUNNING:
                replaces = True
    look_at = _look_at(onward, waiting, now, fires=fire is not None)
    return Verdict(onward, look_at, fire, skipped, waiting, due.missed, due.long_missed, replaces)


def _look_at(onward: int | None, waiting: int | None, now: int, *, fires: bool) -> int | None:
    """At the next slot, also where it is due already; sooner, or later, while one waits."""
    if waiting is None and (onward is None or onward > now or fires):
        return onward
    soon = now + LOOK_AGAIN
    return min(soon, onward) if onward is not None and onward > now else soon


def _due(s: ScheduleState, now: int) -> _Due:
    """The slot to fire, those that were missed, and the next."""
    first = s.next_fire_at
    if first is None or first > now:
        return _Due(None, first)
    long_missed = None
    if first < now - s.window:
        long_missed = first
        later = slot_after(s.rule, now - s.window - 1, seed=s.seed)
        if later is None or later > now:
            return _Due(None, later, long_missed=long_missed)
        first = later
    onward = slot_after(s.rule, first, seed=s.seed)
    if s.catch_up is CatchUp.ALL:
        return _Due(first, onward, (), long_missed)
    every: tuple[int, ...] = (first,)
    if onward is not None and onward <= now:
        every = (first, *slots(s.rule, after=first, until=now, seed=s.seed))
        onward = slot_after(s.rule, now, seed=s.seed)
    if s.catch_up is CatchUp.NONE and now - every[-1] > GRACE:
        return _Due(None, onward, every, long_missed)
    return _Due(every[-1], onward, every[:-1], long_missed)


def _after_the_last_end(s: ScheduleState, now: int) -> Verdict:
    """One that is missed is followed by another after as long, as if it had run."""
    assert isinstance(s.rule, Every)
    if s.is_busy:
        return Verdict(None, now + LOOK_AGAIN)
    at = s.next_fire_at
    if at is None:
        at = slot_after_end(s.rule, s.ended_at, seed=s.seed)
    if at > now:
        return Verdict(at, at)
    is_late = at < now - s.window or (s.catch_up is CatchUp.NONE and now - at > GRACE)
    if is_late:
        onward = slot_after_end(s.rule, now, seed=s.seed)
        return Verdict(onward, onward, missed=(at,))
    return Verdict(None, now + LOOK_AGAIN, fire=at)


def first_slot(rule: Rule, seed: str, *, now: int, not_before: int | None) -> int | None:
    """Of a schedule that is made, or goes on, now."""
    begin = max(now, not_before or 0)
    if isinstance(rule, Every) and rule.after_end:
        return begin
    return slot_after(rule, begin - 1 if not_before == begin else now, seed=seed)
