"""Decides what becomes of a schedule's slots. Pure: a function of its state and `now`."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from curtsy.clock import DAY, MINUTE, SECOND
from curtsy.timetable import Every, Rule, slot_after, slot_after_end, slots

GRACE = MINUTE
"""A slot that is later than this is missed."""
RECHECK_EVERY = 2 * SECOND
"""How often a scheduler checks whether a run has ended that a slot waits for."""
LONGEST_WINDOW = 7 * DAY
DEFAULT_WINDOW = DAY


class Overlap(StrEnum):
    """What happens to a slot while the previous run is still open."""

    SKIP = "skip"
    QUEUE_ONE = "queue_one"
    CANCEL_RUNNING = "cancel_running"
    ALLOW = "allow"


class CatchUp(StrEnum):
    """What happens to slots that no scheduler fired in time."""

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
    """The slot that waits for the previous run to end."""
    is_busy: bool
    """A run is open."""
    ended_at: int
    """When the last run ended; before the first run, when the schedule was created."""


@dataclass(frozen=True, slots=True)
class Verdict:
    next_fire_at: int | None
    look_at: int | None
    """When to judge the schedule again; None: never."""
    fire: int | None = None
    skipped: int | None = None
    waiting: int | None = None
    missed: Sequence[int] = ()
    long_missed: int | None = None
    """The first slot before the window; all slots from there to the window are missed."""
    replaces: bool = False
    """`fire` replaces an open run, and fires once that run is cancelled."""


@dataclass(frozen=True, slots=True)
class _Due:
    fire: int | None
    next: int | None
    missed: Sequence[int] = ()
    long_missed: int | None = None


def judge(s: ScheduleState, now: int) -> Verdict:
    if isinstance(s.rule, Every) and s.rule.after_end:
        return _judge_after_end(s, now)
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
                fire, onward = None, fire  # slots are caught up on one after the other
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
    """At the next slot, even if that is due already; while a slot waits, at the next recheck."""
    if waiting is None and (onward is None or onward > now or fires):
        return onward
    recheck = now + RECHECK_EVERY
    return min(recheck, onward) if onward is not None and onward > now else recheck


def _due(s: ScheduleState, now: int) -> _Due:
    """Returns the slot to fire, the missed slots and the next slot."""
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


def _judge_after_end(s: ScheduleState, now: int) -> Verdict:
    """Judges a rule with `after_end`. After a missed slot the interval starts again, as after a
    run."""
    assert isinstance(s.rule, Every)
    if s.is_busy:
        return Verdict(None, now + RECHECK_EVERY)
    at = s.next_fire_at
    if at is None:
        at = slot_after_end(s.rule, min(s.ended_at, now), seed=s.seed)
    if at > now:
        return Verdict(at, at)
    is_late = at < now - s.window or (s.catch_up is CatchUp.NONE and now - at > GRACE)
    if is_late:
        onward = slot_after_end(s.rule, now, seed=s.seed)
        return Verdict(onward, onward, missed=(at,))
    return Verdict(None, now + RECHECK_EVERY, fire=at)


def first_slot(rule: Rule, seed: str, *, now: int, not_before: int | None) -> int | None:
    """Returns the first slot of a schedule that is created or resumed now."""
    begin = max(now, not_before or 0)
    if isinstance(rule, Every) and rule.after_end:
        return begin
    return slot_after(rule, begin - 1 if not_before == begin else now, seed=seed)
