"""The headers that make a submit safe to repeat."""

from typing import Annotated

from fastapi import Header

REPLAYED = {"Idempotent-Replayed": "true"}
"""Sent with the response to a repeated request."""
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,255}$",
        description="For a day, the same key with the same body returns the same job.",
    ),
]
