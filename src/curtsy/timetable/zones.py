"""Time zones by name, and the stretches of time between two of their clock changes.

`zoneinfo` returns the offset at an instant, but not when the offset changes. All difficulties of
daylight saving happen at these changes, so they are searched once per zone and year, and cached.
A local time is then an instant plus an offset, and no `fold` is needed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from curtsy.timetable.rules import BadRule, quoted

DAY_SECONDS = 24 * 60 * 60
LONGEST_NAME = 64
NOT_A_PLACE = frozenset({"Factory", "localtime", "posixrules"})
"""Files in the zone database that are no zones, or differ between machines."""


@dataclass(frozen=True, slots=True)
class Change:
    """A clock change, in seconds; `before` and `ahead` are the offsets to UTC around it."""

    at: int
    before: int
    ahead: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time from `start` to before `end` with one offset, which `change` introduced."""

    start: int
    end: int
    change: Change


@lru_cache(maxsize=1)
def names() -> frozenset[str]:
    return frozenset(available_timezones()) - NOT_A_PLACE


def checked_zone(name: object) -> str:
    """Requires a name from the list of zones, so that no other text becomes part of a path. Raises
    `BadRule`."""
    if isinstance(name, str) and name in names():
        return name
    near = []
    if isinstance(name, str) and len(name) <= LONGEST_NAME:
        folded = {zone.casefold(): zone for zone in names()}
        near = [folded[zone] for zone in get_close_matches(name.casefold(), folded, 1, 0.75)]
    right = f"did you mean {near[0]}?" if near else "use a name such as Europe/Berlin or UTC."
    raise BadRule(f"There is no time zone {quoted(name)}: {right}")


@lru_cache(maxsize=1024)
def zone_named(name: str) -> ZoneInfo:
    return ZoneInfo(checked_zone(name))


def offset(zone: ZoneInfo, second: int) -> int:
    """Returns the zone's offset to UTC at that instant, in seconds."""
    ahead = datetime.fromtimestamp(second, zone).utcoffset()
    assert ahead is not None
    return ahead.days * DAY_SECONDS + ahead.seconds


def year_of(second: int) -> int:
    return datetime.fromtimestamp(second, UTC).year


@lru_cache(maxsize=1024)
def start_of(year: int) -> int:
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp())


@lru_cache(maxsize=8192)
def changes(name: str, year: int) -> tuple[Change, ...]:
    """Returns the clock changes within this year of UTC. Two changes within one day would not be
    found."""
    zone = zone_named(name)
    found, low = [], start_of(year) - 1
    last, before = start_of(year + 1) - 1, offset(zone, low)
    while low < last:
        high = min(low + DAY_SECONDS, last)
        ahead = offset(zone, high)
        if ahead != before:
            found.append(Change(_first_with(zone, ahead, low, high), before, ahead))
        low, before = high, ahead
    return tuple(found)


def _first_with(zone: ZoneInfo, ahead: int, low: int, high: int) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if offset(zone, middle) == ahead else (middle, high)
    return high


@lru_cache(maxsize=8192)
def pieces(name: str, year: int) -> tuple[Stretch, ...]:
    """Returns the stretches of this year of UTC, cut at New Year.

    The first stretch has the last change of the year before, if there was one: a search that starts
    within a repeated hour needs the change that repeats it.
    """
    start = start_of(year)
    ahead = offset(zone_named(name), start - 1)
    latest = (Change(start_of(year - 1), ahead, ahead), *changes(name, year - 1))[-1]
    found = []
    for change in changes(name, year):
        if change.at > start:
            found.append(Stretch(start, change.at, latest))
        start, latest = change.at, change
    return (*found, Stretch(start, start_of(year + 1), latest))


def stretches(name: str, first: int, last: int) -> Iterator[Stretch]:
    """Returns all stretches that overlap `first` to `last`, in order, computed year by year."""
    year = year_of(first)
    while start_of(year) <= last:
        for piece in pieces(name, year):
            if piece.end > first and piece.start <= last:
                yield piece
        year += 1
