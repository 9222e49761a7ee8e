"""A count that stops at a cap, so that counting many costs no more than counting some."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Count:
    number: int
    capped: bool
    """There are more; they were not counted."""

    @classmethod
    def up_to(cls, cap: int, counted: int) -> Self:
        """`counted` stopped at one over the cap."""
        return cls(min(counted, cap), counted > cap)
