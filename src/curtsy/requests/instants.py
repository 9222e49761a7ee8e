"""Instants in request bodies."""

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, Field

from curtsy.errors import BadRequest

Moment = Annotated[AwareDatetime, Field(strict=False, examples=["2030-01-01T12:00:00Z"])]
"""A date and time with an offset from UTC."""


def future_instant(moment: datetime | None, name: str, now: int) -> int | None:
    """Returns the moment in milliseconds. Raises `BadRequest` if it is in the past."""
    if moment is None:
        return None
    instant = int(moment.timestamp() * 1000)
    if instant <= now:
        raise BadRequest([f"{name} is in the past."])
    return instant
