"""Rules as JSON, for the database."""

import json
from dataclasses import asdict, fields
from functools import lru_cache
from typing import Any, assert_never, cast

from curtsy.timetable.cron import normalised
from curtsy.timetable.rules import (
    BadRule,
    Cron,
    Every,
    Once,
    Rule,
    checked_every,
    checked_once,
    quoted,
)

KINDS: dict[str, type[Once] | type[Cron] | type[Every]] = {
    "once": Once,
    "cron": Cron,
    "every": Every,
}
LONGEST_TEXT = 1000
CACHED_RULES = 4_096
"""A scheduler needs a rule for every verdict; parsing it took 40 % of that time."""


def to_json(rule: Rule) -> str:
    """Returns the same text for equal rules."""
    kind = next(name for name, cls in KINDS.items() if isinstance(rule, cls))
    return json.dumps({"kind": kind, **asdict(rule)})


@lru_cache(maxsize=CACHED_RULES)
def from_json(text: str) -> Rule:
    """Parses a stored rule.

    Checks its shape, but not whether a cron line's time zone and dates exist: names of zones may
    disappear while a rule is stored, and listing schedules must still work. Computing the slots of
    such a rule raises `BadRule`.
    """
    fields_given = _object(text)
    cls = KINDS.get(kind) if isinstance(kind := fields_given.pop("kind", None), str) else None
    if cls is None:
        raise BadRule(f"The kind of a rule is {quoted(kind)}, but must be once, cron or every.")
    known = {field.name for field in fields(cls)}
    if unknown := sorted(fields_given.keys() - known):
        raise BadRule(f"A rule of kind {kind} has no {quoted(unknown[0])}: it has {sorted(known)}.")
    try:
        return _checked_shape(cls(**fields_given))
    except TypeError:
        raise BadRule(f"A rule of kind {kind} needs {quoted(fields(cls)[0].name)}.") from None


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text) if len(text) <= LONGEST_TEXT else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadRule(f"A stored rule is {quoted(text)}, but must be a short object of JSON.")
    return value


def _checked_shape(rule: Rule) -> Rule:
    match rule:
        case Once():
            return checked_once(rule)
        case Every():
            return checked_every(rule)
        case Cron():
            normalised(rule.line)
            if not isinstance(cast("object", rule.timezone), str):
                raise BadRule(f"The time zone is {quoted(rule.timezone)}, but must be a name.")
            return rule
        case _:
            assert_never(rule)
