"""Spans of time, as they are typed and as they are told."""

import re

from curtsy.cli.console.errors import WrongUsage

MINUTE, HOUR, DAY = 60, 3_600, 86_400
_SPAN = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m(?:in)?)?")


def minutes_of(text: str, option: str) -> int:
    """Of `90m`, `2h`, `1d`, `1d12h`, or a number of minutes."""
    said = "".join(text.lower().split())
    if said.isdecimal() and said.isascii() and len(said) < 10:
        return int(said)
    span = _SPAN.fullmatch(said)
    if not said or span is None:
        raise WrongUsage(f"{option} is {text!r}: give a span, as 90m, 2h, 1d or 1d12h.")
    days, hours, minutes = (int(part or 0) for part in span.groups())
    return (days * 24 + hours) * 60 + minutes


def span(seconds: float) -> str:
    """Roughly, in one unit."""
    if seconds < 2 * MINUTE:
        return f"{max(0, round(seconds))} s"
    for unit, name, until in ((MINUTE, "min", 2 * HOUR), (HOUR, "h", 2 * DAY)):
        if seconds < until:
            return f"{_few_digits(seconds / unit)} {name}"
    return f"{_few_digits(seconds / DAY)} d"


def _few_digits(number: float) -> str:
    return f"{round(number, 1 if number < 10 else None):g}"
