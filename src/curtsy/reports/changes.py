"""How a figure changed against the period before: in words, and whether that is better."""

from typing import Literal, NamedTuple

from curtsy.reports.formats import MINUS, NARROW, compact

Verdict = Literal["better", "worse", "same", "other"]
MOST_PERCENT = 999
SMALLEST = 0.005
"""Less than half a percent, or half of a tenth of a point, is no change."""

NOTABLE = 0.05
"""A smaller part is neither better nor worse."""


class Change(NamedTuple):
    words: str
    verdict: Verdict


def of_count(now: float, before: float | None, *, good: int = 0) -> Change | None:
    """`good`: 1 where more is better, -1 where less is, 0 where neither."""
    if before is None:
        return None
    if before == 0:
        return SAME if now == 0 else Change(f"+{compact(now)}, from none", _verdict(good))
    part = now / before - 1
    if abs(part) < SMALLEST:
        return SAME
    shown = f"{min(abs(part) * 100, MOST_PERCENT):.0f}{NARROW}%"
    if abs(part) * 100 > MOST_PERCENT:
        shown = f"{now / before:,.0f} times as many"
        return Change(shown, _verdict(good))
    judged = good if abs(part) >= NOTABLE else 0
    return Change(f"{_sign(part)}{shown}", _verdict(judged if part > 0 else -judged))


def of_share(now: float | None, before: float | None) -> Change | None:
    """In points; more is better."""
    if now is None or before is None:
        return None
    points = (now - before) * 100
    if abs(points) < 10 * SMALLEST:
        return SAME
    return Change(f"{_sign(points)}{abs(points):.1f} points", _verdict(1 if points > 0 else -1))


def of_span(now: int | None, before: int | None) -> Change | None:
    """Less is better."""
    if now is None or before is None:
        return None
    return of_count(now, before, good=-1)


SAME = Change("no change", "same")


def _sign(value: float) -> str:
    return "+" if value > 0 else MINUS


def _verdict(good: int) -> Verdict:
    return "better" if good > 0 else "worse" if good < 0 else "other"
