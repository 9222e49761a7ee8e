"""Cron lines: five fields, parsed by cronsim; their slots follow Debian's rules for clock changes.

cronsim parses fields and matches days. The iteration over time is our own, because cronsim loses or
shifts slots of wildcard lines where clocks change by half an hour or at midnight (see
`docs/explanation/daylight-saving.md`). It also stays within the requested time, so that no line
takes long, however rare its dates are.
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
from curtsy.model.counts import counted
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
"""After 28 years the weekdays fall on the same dates again. The years are fixed, since this room
has no clock: the validity of a line never changes."""
FURTHEST = (LONGEST_WAIT_YEARS + 1) * 366 * DAY
"""One year more: the search for the next slot may start in the middle of a year."""

_EPOCH = date(1970, 1, 1).toordinal()
_ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""cronsim needs a start time; here it only parses."""


@dataclass(frozen=True, slots=True)
class Line:
    times: tuple[int, ...]
    """Seconds after midnight, ascending."""
    months: frozenset[int]
    matches: Callable[[date], bool]
    fixed: bool
    """Neither its minute nor its hour starts with a star, so a clock change neither drops nor
    repeats a run: the criterion of Debian's cron."""


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
        read = CronSim(_without_useless_steps(line), _ANY_TIME)
    except CronSimError as error:
        raise BadRule(_explain_error(line, str(error))) from None
    minute, hour = line.split()[:2]
    return Line(
        times=tuple(h * 3600 + m * 60 for h in sorted(read.hours) for m in sorted(read.minutes)),
        months=frozenset(read.months),
        matches=read.match_day,
        fixed=not minute.startswith("*") and not hour.startswith("*"),
    )


def _without_useless_steps(line: str) -> str:
    """cronsim parses `5-5/10` as `5/10`, from 5 to the end; to cron it is a range of one value."""
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
            f"The cron line {quoted(line)} has {counted(fields, 'field')}, but must have five: "
            "minute, hour, day of month, month, day of week, like '0 9 * * 1-5'."
        )
    return line


def _explain_error(line: str, error: str) -> str:
    for place, (name, right) in enumerate(FIELDS.items()):
        if error == f"Bad {name}":
            wrong = quoted(line.split()[place])
            return f"The {name} {wrong} of the cron line {quoted(line)} must be {right}."
    return f"The cron line {quoted(line)} is not valid: {error}."


@lru_cache(maxsize=4096)
def _survey(line: str, timezone: str) -> None:
    """Raises `BadRule` for a line that never fires within ten years, or never at all."""
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
    """Returns the slots in (after, until], from 1970 to the year 9998. Raises `BadRule` at once,
    not lazily."""
    return _slots(parsed(rule.line), checked_zone(rule.timezone), after, until)


def _slots(line: Line, timezone: str, after: int, until: int) -> Iterator[int]:
    """Returns slots by Debian's rules.

    Within a stretch a slot is a local time minus the offset. At the clock change that starts the
    stretch, a wildcard line continues with the new local time. A fixed line continues with the old
    local time: so it does not fire again in a repeated hour, and all its slots in a skipped hour
    are due at once, as one slot.
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
        for local in _local_times(line, begin, end + change.ahead):
            slot = max(local - change.ahead, start) * SECOND
            if slot > latest:
                yield slot
                latest = slot


def _local_times(line: Line, start: int, end: int) -> Iterator[int]:
    """Returns the line's times in [start, end), in seconds of local time without clock changes."""
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
