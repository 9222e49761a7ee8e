"""Cron the slow way: a daemon that wakes every minute, looks at the wall and reads its lines anew.

It shares nothing with the code under test, neither the reader of fields nor the way through time.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

MONTHS = {
    name: number
    for number, name in enumerate(
        ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"], 1
    )
}
WEEKDAYS = {
    name: number for number, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])
}
DAY_MINUTES = 24 * 60
EPOCH = date(1970, 1, 1)


def numbers(field: str, low: int, high: int, names: dict[str, int]) -> set[int]:
    """Lists of `*`, `5`, `5-9`, each with a step; `5/10` counts from five to the end."""
    found: set[int] = set()
    for part in field.upper().split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        start = low if first == "*" else names[first] if first in names else int(first)
        if first == "*" or (step and not last):
            end = high
        else:
            end = (names[last] if last in names else int(last)) if last else start
        found.update(range(start, end + 1, int(step or 1)))
    return found


def day_of_month_matches(field: str, day: date) -> bool:
    length = monthrange(day.year, day.month)[1]
    for part in field.upper().split(","):
        if part == "L":
            wanted = {length}
        elif part == "LW":
            wanted = {max(d for d in range(1, length + 1) if day.replace(day=d).weekday() < 5)}
        else:
            wanted = numbers(part, 1, 31, {})
        if day.day in wanted:
            return True
    return False


def day_of_week_matches(field: str, day: date) -> bool:
    length = monthrange(day.year, day.month)[1]
    for part in field.upper().split(","):
        if found := re.fullmatch(r"(\w+)#(\d)", part):
            weekdays, right_week = found[1], (day.day - 1) // 7 + 1 == int(found[2])
        elif found := re.fullmatch(r"(\d)L", part):
            weekdays, right_week = found[1], day.day > length - 7
        else:
            weekdays, right_week = part, True
        if right_week and day.isoweekday() % 7 in {
            weekday % 7 for weekday in numbers(weekdays, 0, 7, WEEKDAYS)
        }:
            return True
    return False


@dataclass(frozen=True)
class SlowLine:
    line: str

    def times(self) -> set[int]:
        minute, hour = self.line.split()[:2]
        hours = numbers(hour, 0, 23, {})
        return {h * 60 + m for h in hours for m in numbers(minute, 0, 59, {})}

    def on_day(self, day: date) -> bool:
        of_month, month, of_week = self.line.split()[2:]
        if day.month not in numbers(month, 1, 12, MONTHS):
            return False
        either = day_of_month_matches(of_month, day), day_of_week_matches(of_week, day)
        return all(either) if of_month[0] == "*" or of_week[0] == "*" else any(either)

    def is_wild(self) -> bool:
        minute, hour = self.line.split()[:2]
        return minute[0] == "*" or hour[0] == "*"


def walls(zone: str, first: int, last: int) -> list[int]:
    """For each minute of UTC what the wall there shows, in minutes since 1970."""
    place, seen = ZoneInfo(zone), []
    for start in range(first, last + 1, 15):
        end = min(start + 15, last + 1)
        if offset(place, start) == offset(place, end):
            seen.extend(range(start + offset(place, start), end + offset(place, start)))
        else:
            seen.extend(minute + offset(place, minute) for minute in range(start, end))
    return seen


def offset(place: ZoneInfo, minute: int) -> int:
    ahead = datetime.fromtimestamp(minute * 60, place).utcoffset()
    assert ahead is not None
    return ahead // timedelta(minutes=1)


def due(line: str, first: int, last: int) -> bytearray:
    """For each minute on the wall whether the line names it."""
    slow, named = SlowLine(line), bytearray(last + 1 - first)
    times = slow.times()
    for day in range(first // DAY_MINUTES, last // DAY_MINUTES + 1):
        if slow.on_day(EPOCH + timedelta(days=day)):
            for minute in (day * DAY_MINUTES + time for time in times):
                if first <= minute <= last:
                    named[minute - first] = 1
    return named


def runs(line: str, seen: list[int], first: int) -> list[int]:
    """The minutes in which the daemon runs the line; it saw `seen` on the wall from `first` on.

    A wildcard line goes by what the wall shows. A fixed one counts wall time that was not yet: what
    the hands jumped over is run at once, what they repeat is not.
    """
    lowest = min(seen)
    named = due(line, lowest, max(seen))
    if SlowLine(line).is_wild():
        return [minute for minute, shown in enumerate(seen, first) if named[shown - lowest]]
    found, reached = [], seen[0] - 1
    for minute, shown in enumerate(seen, first):
        if shown > reached:
            if any(named[reached + 1 - lowest : shown + 1 - lowest]):
                found.append(minute)
            reached = shown
    return found
