"""The next firings of a schedule, as they are shown: in its zone and in UTC."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pydantic import BaseModel

from curtsy.timetable import BadRule, Every, Rule, checked_zone, shown, slot_after

FIRINGS_SHOWN = 5


class Next(BaseModel):
    utc: str
    local: str
    clock_changes: bool
    """On this day the zone's clocks are put forward or back."""


def next_firings(row: Any, rule: Rule) -> list[Next]:
    """As far as they can be foretold: one that waits for an end cannot. Where the zone is not
    known here, in UTC."""
    zone = "UTC" if unknown_zone(row.timezone) else row.timezone
    firings = (shown(at, zone) for at in islice(_slots(row, rule), FIRINGS_SHOWN))
    return [Next(utc=one.utc, local=one.local, clock_changes=one.changes_clock) for one in firings]


def _slots(row: Any, rule: Rule) -> Iterator[int]:
    at: int | None = row.next_fire_at
    while at is not None:
        yield at
        if isinstance(rule, Every) and rule.after_end:
            return
        try:
            at = slot_after(rule, at, seed=row.public_id)
        except BadRule:  # its own zone is unknown, too
            return


def unknown_zone(name: str) -> str | None:
    """A sentence about it; None: it is known here."""
    try:
        checked_zone(name)
    except BadRule as wrong:
        return str(wrong)
    return None
