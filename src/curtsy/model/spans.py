"""Spans that users write in seconds. Everything here counts in whole milliseconds."""

from typing import Annotated

from pydantic import AfterValidator, Field

_LONGEST = 10.0**12


def whole_milliseconds(seconds: float) -> float:
    """Returns the span to the millisecond, as it is stored and shown. Raises `ValueError` for a
    span that would become zero and is not."""
    if abs(seconds) > _LONGEST:
        return seconds  # its bounds refuse it
    rounded = round(seconds * 1000) / 1000
    if seconds and not rounded:
        raise ValueError("it must be 0 or at least 0.001 seconds")
    return rounded


Span = Annotated[float, Field(allow_inf_nan=False), AfterValidator(whole_milliseconds)]
"""Seconds, finite and to the millisecond."""
