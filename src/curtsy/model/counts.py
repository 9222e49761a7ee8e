"""Counts: one that stops at a cap, so that counting stays cheap, and counts in sentences."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Count:
    number: int
    capped: bool
    """There are more than were counted."""

    @classmethod
    def up_to(cls, cap: int, counted: int) -> Self:
        """`counted` was counted up to one over the cap."""
        return cls(min(counted, cap), counted > cap)


def counted(number: int, noun: str, *, capped: bool = False) -> str:
    """`1 page`, `2 pages`, `10000+ pages`."""
    return f"{number}{'+' if capped else ''} {noun}{'' if number == 1 and not capped else 's'}"


def are(number: int) -> str:
    """The verb after a count: `1 page is`, `2 pages are`."""
    return "is" if number == 1 else "are"


def megabytes(number: int) -> str:
    """`0.4 MB`, `512 MB`, `1.5 GB`; a megabyte is 2**20 bytes, as in `top`."""
    shown, unit = (number / 2**30, "GB") if number >= 2**30 else (number / 2**20, "MB")
    return f"{shown:.{1 if shown < 10 else 0}f} {unit}"
