"""A count that stops at a cap, so that counting stays cheap."""

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
