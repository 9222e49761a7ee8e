"""Descriptions of rules and slots for people."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import assert_never

from curtsy.clock import SECOND, rfc3339
from curtsy.timetable.rules import Cron, Every, Once, Rule
from curtsy.timetable.zones import DAY_SECONDS, Change, changes, year_of, zone_named

UNITS = (("d", 24 * 60), ("h", 60), ("min", 1))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LocalSlot:
    """A slot in UTC and in a time zone."""

    at: int
    utc: str
    local: str
    """ISO 8601 with the zone's offset."""
    changes_clock: bool
    """The zone's clocks are put forward or back on this local day."""


def in_words(rule: Rule) -> str:
    match rule:
        case Once():
            return f"once at {rfc3339(rule.at)}"
        case Cron():
            return f"{rule.line} in {rule.timezone}"
        case Every():
            span = _span(rule.minutes) + (" ± 10 %" if rule.jitter else "")
            return f"{span} after the last end" if rule.after_end else f"every {span}"
        case _:
            assert_never(rule)


def _span(minutes: int) -> str:
    parts = []
    for unit, length in UNITS:
        count, minutes = divmod(minutes, length)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts)


def shown(slot: int, timezone: str) -> LocalSlot:
    zone = zone_named(timezone)
    local = (_EPOCH + timedelta(milliseconds=slot)).astimezone(zone)
    near = (change for year in _years_near(slot) for change in changes(timezone, year))
    return LocalSlot(
        at=slot,
        utc=rfc3339(slot),
        local=local.isoformat(timespec="milliseconds"),
        changes_clock=any(_day_of(change) == local.date() for change in near),
    )


def _years_near(slot: int) -> set[int]:
    """A local day may start in one year of UTC and end in another."""
    return {year_of(slot // SECOND + days * DAY_SECONDS) for days in (-1, 1)}


def _day_of(change: Change) -> date:
    """Returns the local day right after the change."""
    return (_EPOCH + timedelta(seconds=change.at + change.ahead)).date()
