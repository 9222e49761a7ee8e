"""Formats numbers, times and foreign text for sentences and tables; parses spans of time."""

import math
import re
import shutil
import sys

from curtsy.cli.console.error_output import WrongUsage
from curtsy.model.counts import counted as counted
from curtsy.terminal import STEERING


def one_line(text: str) -> str:
    """Replaces characters that steer a terminal, line ends too, in text from elsewhere."""
    return STEERING.sub(" ", text).strip()


def to_minute(instant: str) -> str:
    """Formats an RFC 3339 instant of the API to the minute."""
    return f"{instant[:16].replace('T', ' ')}Z"


def to_second(instant: str) -> str:
    """Formats an RFC 3339 instant of the API to the second."""
    return f"{instant[:19].replace('T', ' ')}Z"


def in_utf8(text: str) -> str:
    """An argument as typed, with replacement characters for bytes that are not UTF-8."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def program_name() -> str:
    """How to call this program from here: `curtsy` if it is on the path, else as it was called."""
    if shutil.which("curtsy"):
        return "curtsy"
    called = sys.argv[0]
    return called if called.endswith("curtsy") else f"{sys.executable} -m curtsy"


MINUTE, HOUR, DAY = 60, 3_600, 86_400
_SPAN = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m(?:in)?)?")


def minutes_of(text: str, option: str) -> int:
    """Parses `90m`, `2h`, `1d`, `1d12h` or a number of minutes."""
    typed = "".join(text.lower().split())
    if typed.isdecimal() and typed.isascii() and len(typed) < 10:
        return int(typed)
    span = _SPAN.fullmatch(typed)
    if not typed or span is None:
        raise WrongUsage(f"{option} is {text!r}: give a span such as 90m, 2h, 1d or 1d12h.")
    days, hours, minutes = (int(part or 0) for part in span.groups())
    return (days * 24 + hours) * 60 + minutes


def finite(value: float | None) -> float | None:
    """A callback for options: `nan` passes every comparison with a limit."""
    if value is not None and not math.isfinite(value):
        raise WrongUsage("nan and inf are no numbers that a limit can have.")
    return value


_SECONDS = re.compile(r"(\d{1,6})(s|m|min|h|d)?")


def seconds_or_never(text: str, option: str) -> int | None:
    """Parses a span; None for `never`."""
    if text.strip().lower() == "never":
        return None
    return seconds_of(text, option, instead=", or never")


def seconds_of(text: str, option: str, *, instead: str = "") -> int:
    """Parses `60s`, `5m`, `2h`, `3d` or a number of seconds. `instead`: what else may stand
    there."""
    typed = "".join(text.lower().split())
    found = _SECONDS.fullmatch(typed) if typed.isascii() else None
    if found is None or not int(found[1]):
        raise WrongUsage(f"{option} is {text!r}: give a span such as 60s, 5m, 2h or 3d{instead}.")
    unit = {None: 1, "s": 1, "h": HOUR, "d": DAY}.get(found[2], MINUTE)
    return int(found[1]) * unit


def span(seconds: float) -> str:
    """Formats a duration roughly, in one unit."""
    if seconds < 2 * MINUTE:
        return f"{max(0, round(seconds))} s"
    for unit, name, until in ((MINUTE, "min", 2 * HOUR), (HOUR, "h", 2 * DAY)):
        if seconds < until:
            return f"{_few_digits(seconds / unit)} {name}"
    return f"{_few_digits(seconds / DAY)} d"


def _few_digits(number: float) -> str:
    return f"{round(number, 1 if number < 10 else None):g}"
