"""The kinds of rules, and the checks of their fields."""

from dataclasses import dataclass

from curtsy.clock import MINUTE

LATEST = 253_339_228_800_000
"""The start of the year 9998: all slots are earlier, so that each can be shown as a date."""
LONGEST_MINUTES = 366 * 24 * 60
LONGEST_QUOTE = 40


class BadRule(ValueError):
    """A rule that cannot be used; the message is for the author of the rule."""


@dataclass(frozen=True, slots=True)
class Once:
    at: int


@dataclass(frozen=True, slots=True)
class Cron:
    line: str
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Every:
    minutes: int
    jitter: bool = True
    after_end: bool = False


Rule = Once | Cron | Every


def quoted(value: object) -> str:
    """Quotes a value for a message: never long, and without control characters."""
    if isinstance(value, str):
        spelled = repr(value[:LONGEST_QUOTE])  # one control character becomes up to ten
        whole_text = len(value) <= LONGEST_QUOTE and len(spelled) <= 2 * LONGEST_QUOTE
        return spelled if whole_text else spelled[: 2 * LONGEST_QUOTE] + "…"
    if isinstance(value, int) and abs(value) > 10**LONGEST_QUOTE:
        return "a huge number"  # Python cannot format thousands of digits
    return repr(value) if isinstance(value, int | float | None) else f"a {type(value).__name__}"


def whole(value: object, what: str, lowest: int, highest: int, example: str) -> int:
    """Requires an integer within these bounds; refuses `True`, which is an int to Python."""
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise BadRule(f"{what} is {quoted(value)}, but must be a whole number {example}.")
    return value


def yes_or_no(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise BadRule(f"{what} is {quoted(value)}, but must be true or false.")
    return value


def checked_once(rule: Once) -> Once:
    example = "of milliseconds since 1970 in UTC, before the year 9998"
    whole(rule.at, "The instant of a rule that fires once", 0, LATEST - 1, example)
    return rule


def checked_every(rule: Every) -> Every:
    example = f"of minutes, from 1 to {LONGEST_MINUTES} (366 days)"
    whole(rule.minutes, "The interval", 1, LONGEST_MINUTES, example)
    yes_or_no(rule.jitter, "jitter")
    yes_or_no(rule.after_end, "after_end")
    return rule


def interval(rule: Every) -> int:
    """Returns the interval in milliseconds. Checks the rule: slots of interval zero never end."""
    return checked_every(rule).minutes * MINUTE
