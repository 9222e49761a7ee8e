"""Cron lines: five fields, read by cronsim; their slots, by Debian's rules when clocks change.

cronsim knows what a field means and which days match. The way through time is our own, since
cronsim's loses or shifts slots of wildcard lines where clocks change by half an hour or at midnight
(`docs/explanation/daylight-saving.md` tells which). It also stays within the time that is asked
for, so that no line, however rare its dates, takes long.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import islice

from cronsim import CronSim, CronSimError
from cronsim.cronsim import Field

from curtsy.clock import DAY, SECOND
from curtsy.timetable.rules import LATEST, BadRule, Cron, quoted
from curtsy.timetable.zones import DAY_SECONDS, checked_zone, start_of, stretches

LONGEST_LINE = 200
NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
FIELDS = {
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day-of-month": "1 to 31, L or LW, and a day that its months have",
    "month": "1 to 12 or JAN to DEC",
    "day-of-week": "0 to 7 or SUN to SAT, 5L or MON#2",
}
LONGEST_WAIT_YEARS = 10
SURVEYED_YEARS = range(2026, 2026 + 28)
"""After 28 years the weekdays fall on the same dates again. Fixed, since this room has no clock:
a line is good or bad for ever, whenever it is asked."""
FURTHEST = (LONGEST_WAIT_YEARS + 1) * 366 * DAY
"""A year more: a line that fires in any ten whole years may be asked in the middle of one."""

_EPOCH = date(1970, 1, 1).toordinal()
_NOWHEN = datetime(1970, 1, 1, tzinfo=UTC)
"""cronsim wants a moment to walk from; here it only reads."""


@dataclass(frozen=True, slots=True)
class Line:
    times: tuple[int, ...]
    """Seconds after midnight, ascending."""
    months: frozenset[int]
    matches: Callable[[date], bool]
    fixed: bool
    """Neither its minute nor its hour begins with a star, so that a change of clocks neither drops
    a run nor doubles it. It is what Debian's cron asks."""


def checked_cron(rule: Cron) -> Cron:
    line = normalised(rule.line)
    _survey(line, checked_zone(rule.timezone))
    return Cron(line, rule.timezone)


def normalised(line: object) -> str:
    if not isinstance(line, str):
        raise BadRule(f"The cron line is {quoted(line)}, but must be a text like '0 9 * * *'.")
    if len(line) > LONGEST_LINE:
        raise BadRule(
            f"The cron line {quoted(line)} has {len(line)} characters, "
            f"but may have {LONGEST_LINE} at most."
        )
    if not line.isascii():
        raise BadRule(f"The cron line {quoted(line)} may have only letters, digits and */,-#@.")
    spaced = " ".join(line.split())
    return spaced.lower() if spaced.startswith("@") else spaced


@lru_cache(maxsize=4096)
def parsed(text: str) -> Line:
    line = _five_fields(normalised(text))
    try:
        read = CronSim(_without_idle_steps(line), _NOWHEN)
    except CronSimError as error:
        raise BadRule(_what_is_wrong(line, str(error))) from None
    minute, hour = line.split()[:2]
    return Line(
        times=tuple(h * 3600 + m * 60 for h in sorted(read.hours) for m in sorted(read.minutes)),
        months=frozenset(read.months),
        matches=read.match_day,
        fixed=not minute.startswith("*") and not hour.startswith("*"),
    )


def _without_idle_steps(line: str) -> str:
    """cronsim takes `5-5/10` for `5/10`, so from 5 to the end; to cron it is a range of one."""
    fields = line.upper().split()
    for place, field in zip(range(Field.MINUTE, Field.DOW + 1), fields, strict=True):
        parts = field.split(",")
        for number, part in enumerate(parts):
            span, _, step = part.partition("/")
            if "-" in span and step.strip("0").isdigit() and len(Field(place).parse(span)) == 1:
                parts[number] = span
        fields[place - 1] = ",".join(parts)
    return " ".join(fields)


def _five_fields(line: str) -> str:
    if line.startswith("@"):
        if line not in NAMED:
            raise BadRule(f"There is no cron name {quoted(line)}: use one of {', '.join(NAMED)}.")
        return NAMED[line]
    fields = len(line.split())
    if fields == 6:
        raise BadRule(
            f"The cron line {quoted(line)} has six fields, but must have five, without seconds: "
            "minute, hour, day of month, month, day of week."
        )
    if fields != 5:
        raise BadRule(
            f"The cron line {quoted(line)} has {fields} fields, but must have five: "
            "minute, hour, day of month, month, day of week, like '0 9 * * 1-5'."
        )
    return line


def _what_is_wrong(line: str, complaint: str) -> str:
    for place, (name, right) in enumerate(FIELDS.items()):
        if complaint == f"Bad {name}":
            wrong = quoted(line.split()[place])
            return f"The {name} {wrong} of the cron line {quoted(line)} must be {right}."
    return f"The cron line {quoted(line)} is not one that cron knows: {complaint}."


@lru_cache(maxsize=4096)
def _survey(line: str, timezone: str) -> None:
    """Refuse what would keep its owner waiting for ever, or nearly so."""
    rule = Cron(line, timezone)
    for year in SURVEYED_YEARS:
        start, end = start_of(year), start_of(year + LONGEST_WAIT_YEARS)
        slot = next(cron_slots(rule, start * SECOND - 1, end * SECOND - 1), None)
        if slot is None:
            raise BadRule(
                f"The cron line {quoted(line)} never fires from {year} to "
                f"{year + LONGEST_WAIT_YEARS - 1} in {timezone}: "
                f"it needs a date that comes at least every {LONGEST_WAIT_YEARS} years."
            )


def cron_slots(rule: Cron, after: int, until: int) -> Iterator[int]:
    """In (after, until], from 1970 to the year 9998. A bad line is told at once, not lazily."""
    return _slots(parsed(rule.line), checked_zone(rule.timezone), after, until)


def _slots(line: Line, timezone: str, after: int, until: int) -> Iterator[int]:
    """By Debian's rules.

    Within a stretch a slot is a time on the wall minus the offset. At the change that begins it, a
    wildcard line goes by the clock as it now shows: it starts where the hands were put. A fixed one
    starts where the hands stood before: so it does not see again what the clock repeats, and what
    the clock skipped is due at once, together.
    """
    first, last = max(after, -1) // SECOND + 1, min(until, LATEST - 1) // SECOND
    if first > last:
        return
    latest = after
    for stretch in stretches(timezone, first, last):
        change = stretch.change
        begin = change.at + (change.before if line.fixed else change.ahead)
        start, end = max(stretch.start, first), min(stretch.end, last + 1)
        if start > change.at:
            begin = max(begin, start + change.ahead)
        for wall in _wall_times(line, begin, end + change.ahead):
            slot = max(wall - change.ahead, start) * SECOND
            if slot > latest:
                yield slot
                latest = slot


def _wall_times(line: Line, start: int, end: int) -> Iterator[int]:
    """The line's times in [start, end), as seconds of a wall clock that never changes."""
    day = start // DAY_SECONDS
    while day * DAY_SECONDS < end:
        today, midnight = date.fromordinal(_EPOCH + day), day * DAY_SECONDS
        if today.month not in line.months:
            day += _days_left_in_month(today)
            continue
        if line.matches(today):
            earliest = bisect_left(line.times, start - midnight)
            for time in islice(line.times, earliest, None):
                if midnight + time >= end:
                    return
                yield midnight + time
        day += 1


def _days_left_in_month(day: date) -> int:
    following = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return (following - day).days
