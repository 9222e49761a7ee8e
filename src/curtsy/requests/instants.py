"""Instants in request bodies."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field

from curtsy.errors import BadRequest


def _within_the_calendar(moment: datetime) -> datetime:
    """Offsets move the first and the last day of the calendar out of it."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("the moment is not within the years 1 to 9999 of UTC") from None


Moment = Annotated[
    AwareDatetime,
    Field(strict=False, examples=["2030-01-01T12:00:00Z"]),
    AfterValidator(_within_the_calendar),
]
"""A date and time with an offset from UTC."""


def future_instant(moment: datetime | None, name: str, now: int) -> int | None:
    """Returns the moment in milliseconds. Raises `BadRequest` if it is in the past."""
    if moment is None:
        return None
    instant = int(moment.timestamp() * 1000)
    if instant <= now:
        raise BadRequest([f"{name} is in the past."])
    return instant
