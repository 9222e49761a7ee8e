"""Rules as text in a row."""

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
RULES_KEPT = 4_096
"""A scheduler wants a rule at every look; to read it anew took four tenths of the judging."""


def to_json(rule: Rule) -> str:
    """Always the same text for the same rule."""
    kind = next(name for name, cls in KINDS.items() if isinstance(rule, cls))
    return json.dumps({"kind": kind, **asdict(rule)})


@lru_cache(maxsize=RULES_KEPT)
def from_json(text: str) -> Rule:
    """The rule that was stored.

    Its shape is checked, but not whether a cron line's zone and dates exist: a row outlives the
    zones' names, and whoever lists schedules must be able to read it. Asking for its slots tells.
    """
    held = _object(text)
    cls = KINDS.get(kind) if isinstance(kind := held.pop("kind", None), str) else None
    if cls is None:
        raise BadRule(f"The kind of a rule is {quoted(kind)}, but must be once, cron or every.")
    known = {field.name for field in fields(cls)}
    if unknown := sorted(held.keys() - known):
        raise BadRule(f"A rule of kind {kind} has no {quoted(unknown[0])}: it has {sorted(known)}.")
    try:
        return _shaped(cls(**held))
    except TypeError:
        raise BadRule(f"A rule of kind {kind} needs {quoted(fields(cls)[0].name)}.") from None


def _object(text: str) -> dict[str, Any]:
    try:
        held = json.loads(text) if len(text) <= LONGEST_TEXT else None
    except (ValueError, RecursionError):
        held = None
    if not isinstance(held, dict):
        raise BadRule(f"A stored rule is {quoted(text)}, but must be a short object of JSON.")
    return held


def _shaped(rule: Rule) -> Rule:
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
