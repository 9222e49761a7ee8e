"""Moments as people write them, and as they are told."""

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, Field

from curtsy.errors import BadRequest

Moment = Annotated[AwareDatetime, Field(strict=False, examples=["2030-01-01T12:00:00Z"])]
"""With its offset from UTC."""


def yet_to_come(moment: datetime | None, name: str, now: int) -> int | None:
    """As an instant; what is past is refused."""
    if moment is None:
        return None
    instant = int(moment.timestamp() * 1000)
    if instant <= now:
        raise BadRequest([f"{name} is in the past."])
    return instant
