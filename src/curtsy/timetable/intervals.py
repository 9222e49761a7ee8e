"""Slots at regular intervals, with jitter so that not all schedules fire at the full hour.

The jitter is a hash of the seed and the slot's number: every process computes the same slots at any
time, without storing them. It is at most a tenth of the interval, so slots never change order.
"""

from collections.abc import Iterator
from hashlib import blake2b

from curtsy.timetable.rules import Every, interval

JITTER_PARTS = 10


def every_slots(rule: Every, after: int, *, seed: str) -> Iterator[int]:
    """Returns the slots after this instant, lazily and without end; numbered from 1970."""
    span = interval(rule)
    furthest = span // JITTER_PARTS if rule.jitter else 0
    number = (after - furthest) // span + 1  # all earlier slots have passed
    while True:
        slot = number * span + _jitter(furthest, number, seed)
        if slot > after:
            yield slot
        number += 1


def slot_after_end(rule: Every, ended_at: int, *, seed: str) -> int:
    """Returns the slot that follows the end of a run, for a rule with `after_end`."""
    if not rule.after_end:
        raise ValueError("this rule has fixed slots: use slot_after")
    span = interval(rule)
    furthest = span // JITTER_PARTS if rule.jitter else 0
    return ended_at + span + _jitter(furthest, ended_at, seed)


def _jitter(furthest: int, number: int, seed: str) -> int:
    """Not with `hash()`, which differs between processes."""
    if not furthest:
        return 0
    digest = blake2b(f"{number} {seed}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % (2 * furthest + 1) - furthest
