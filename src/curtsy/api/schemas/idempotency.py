"""The header that makes a submit safe to repeat."""

from typing import Annotated

from fastapi import Header

REPLAYED = {"Idempotent-Replayed": "true"}
"""With the answer to a request that was made before."""
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,255}$",
        description="The same key with the same body gives the same job, for a day.",
    ),
]
