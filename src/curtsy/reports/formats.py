"""Numbers, spans, sizes and instants as people read them; English, UTC, whatever the locale."""

from datetime import UTC, date, datetime

from curtsy.clock import DAY, HOUR, MINUTE, SECOND
from curtsy.model.counts import counted

NONE = "–"
MINUS = "\N{MINUS SIGN}"
NARROW = "\N{NO-BREAK SPACE}"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
ROUNDS_UP = 999.5
"""With three digits this would be a thousand of its unit."""
MINUTES_OF_A_DAY = DAY // MINUTE
_SIZES = ("bytes", "kB", "MB", "GB", "TB", "PB")
_COMPACT = ("", "k", "M", "G", "T")


def number(value: int) -> str:
    return f"{value:,}"


def compact(value: float) -> str:
    """`950`, `1.2k`, `3M`: for axes."""
    left = list(_COMPACT)
    while abs(value) >= ROUNDS_UP and len(left) > 1:
        value, left = value / 1_000, left[1:]
    return f"{value:.3g}{left[0]}"


def rate(value: float) -> str:
    """Pages a minute."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def percent(share: float | None) -> str:
    """Never rounds to a whole that it is not: 99.96 % is not 100 %."""
    if share is None:
        return NONE
    if share in (0, 1):
        return f"{share * 100:.0f}{NARROW}%"
    if share < 0.001:
        return f"< 0.1{NARROW}%"
    return f"{min(99.9, share * 100):.1f}{NARROW}%"


def size(value: int) -> str:
    scaled, units = float(value), list(_SIZES)
    while scaled >= ROUNDS_UP and len(units) > 1:
        scaled, units = scaled / 1_000, units[1:]
    return f"{scaled:.3g}{NARROW}{units[0]}"


def span(milliseconds: float | None) -> str:
    if milliseconds is None:
        return NONE
    if milliseconds == 0:
        return "0"
    if milliseconds < SECOND:
        return f"{milliseconds:.0f}{NARROW}ms"
    if milliseconds < 100 * SECOND:
        return f"{milliseconds / SECOND:.3g}{NARROW}s"
    for unit, word in ((MINUTE, "min"), (HOUR, "h")):
        if milliseconds < 100 * unit:
            return f"{milliseconds / unit:.3g}{NARROW}{word}"
    days = milliseconds / DAY
    return f"{days:,.0f}{NARROW}d" if days >= 100 else f"{days:.3g}{NARROW}d"


def hours(minutes: int) -> str:
    """A period in words, in its two largest units: `6 hours`, `5 hours 47 minutes`, `30 days`. Days
    begin with the second."""
    if minutes < 2 * MINUTES_OF_A_DAY:
        parts = ((minutes // 60, "hour"), (minutes % 60, "minute"))
    else:
        parts = ((minutes // MINUTES_OF_A_DAY, "day"), (minutes % MINUTES_OF_A_DAY // 60, "hour"))
    return " ".join(counted(count, unit) for count, unit in parts if count) or "0 minutes"


def _utc(instant: int) -> datetime:
    return datetime.fromtimestamp(instant / SECOND, UTC)


def day(instant: int) -> str:
    at = _utc(instant)
    return f"{at.day} {MONTHS[at.month - 1]}"


def time_of_day(instant: int) -> str:
    return f"{_utc(instant):%H:%M}"


def moment(instant: int) -> str:
    return f"{day(instant)} {_utc(instant).year}, {time_of_day(instant)}"


def days(first: str, last: str) -> str:
    """Of two dates as ISO 8601 writes them: `17 Nov to 18 Nov 2026`."""
    begin, end = date.fromisoformat(first), date.fromisoformat(last)
    words = [f"{at.day} {MONTHS[at.month - 1]}" for at in (begin, end)]
    if begin == end:
        return f"{words[1]} {end.year}"
    year = f" {begin.year}" if begin.year != end.year else ""
    return f"{words[0]}{year} to {words[1]} {end.year}"


def period(since: int, until: int) -> str:
    """`18 Nov 2026, 06:00 to 12:00 UTC`."""
    same = _utc(since).date() == _utc(until).date()
    end = time_of_day(until) if same else moment(until)
    return f"{moment(since)} to {end} UTC"
