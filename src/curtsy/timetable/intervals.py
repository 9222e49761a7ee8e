"""Slots at a regular distance, each moved a little so that not everybody comes at the full hour.

The move is a hash of the seed and the slot's number: any process finds the same slots again, at any
time, with nothing stored. A tenth of the interval at most, so neighbours never meet.
"""

from collections.abc import Iterator
from hashlib import blake2b

from curtsy.timetable.rules import Every, interval

JITTER_PARTS = 10


def every_slots(rule: Every, after: int, *, seed: str) -> Iterator[int]:
    """All that lie after this moment, lazily and without end; counted since 1970."""
    span = interval(rule)
    furthest = span // JITTER_PARTS if rule.jitter else 0
    number = (after - furthest) // span + 1  # all earlier ones have surely passed
    while True:
        slot = number * span + _move(furthest, number, seed)
        if slot > after:
            yield slot
        number += 1


def slot_after_end(rule: Every, ended_at: int, *, seed: str) -> int:
    """The one slot that follows an end. Only a rule with `after_end` has such slots."""
    if not rule.after_end:
        raise ValueError("this rule goes by the clock: ask slot_after")
    span = interval(rule)
    furthest = span // JITTER_PARTS if rule.jitter else 0
    return ended_at + span + _move(furthest, ended_at, seed)


def _move(furthest: int, number: int, seed: str) -> int:
    """`hash()` differs from process to process, so it would not do."""
    if not furthest:
        return 0
    digest = blake2b(f"{number} {seed}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % (2 * furthest + 1) - furthest
