"""Slots of all kinds of rules."""

from collections.abc import Iterator
from itertools import takewhile
from typing import assert_never

from curtsy.timetable.cron import FURTHEST, checked_cron, cron_slots
from curtsy.timetable.intervals import every_slots
from curtsy.timetable.rules import LATEST, Cron, Every, Once, Rule, checked_every, checked_once


def checked(rule: Rule) -> Rule:
    """Returns the rule in normal form. Raises `BadRule`."""
    match rule:
        case Once():
            return checked_once(rule)
        case Cron():
            return checked_cron(rule)
        case Every():
            return checked_every(rule)
        case _:
            assert_never(rule)


def slot_after(rule: Rule, after: int, *, seed: str) -> int | None:
    """Returns the first slot strictly after this instant, or None.

    The slots of a rule with `after_end` depend on the ends of runs: for such a rule this function
    raises a plain ValueError, since calling it is a bug.
    """
    if isinstance(rule, Once):
        return rule.at if rule.at > after else None
    return next(slots(rule, after=after, until=after + FURTHEST, seed=seed), None)


def slots(rule: Rule, *, after: int, until: int, seed: str) -> Iterator[int]:
    """Returns all slots in (after, until], lazily. Raises errors at once."""
    match rule:
        case Once():
            return iter([rule.at] if after < rule.at <= until else [])
        case Cron():
            return cron_slots(rule, after, until)
        case Every(after_end=True):
            raise ValueError("this rule depends on the ends of runs: use slot_after_end")
        case Every():
            last = min(until, LATEST - 1)
            return takewhile(lambda slot: slot <= last, every_slots(rule, after, seed=seed))
        case _:
            assert_never(rule)
