"""Zones by name, and the stretches of time between two changes of their clocks.

`zoneinfo` answers which offset holds at an instant, but not when it changes. All that is hard about
daylight saving happens at these changes, so they are looked for once per zone and year, and kept.
From then on a local time is an instant plus an offset, and no `fold` can get lost on the way.
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
"""Files beside the zones, which mean something else on each machine, or nothing."""


@dataclass(frozen=True, slots=True)
class Change:
    """All in seconds; `before` and `ahead` are the offsets to UTC before it and from then on."""

    at: int
    before: int
    ahead: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start` until before `end` one offset holds; `change` is the one that brought it."""

    start: int
    end: int
    change: Change


@lru_cache(maxsize=1)
def names() -> frozenset[str]:
    return frozenset(available_timezones()) - NOT_A_PLACE


def checked_zone(name: object) -> str:
    """Looked up in the list of zones first: what is not in it never becomes part of a path."""
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
    """How far the zone's clocks are ahead of UTC at that instant, in seconds."""
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
    """Those within this year of UTC. A zone that changed twice within one day would hide both."""
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
    """The stretches of this year of UTC, cut at New Year.

    The first one has the change of the year before, if there was one: who starts within a repeated
    hour must know of the change that repeats it.
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
    """All that have a second from `first` to `last`, in order; looked for year by year."""
    year = year_of(first)
    while start_of(year) <= last:
        for piece in pieces(name, year):
            if piece.end > first and piece.start <= last:
                yield piece
        year += 1
