"""Query parameters that take one of several words, and say which."""

from collections.abc import Callable, Collection
from typing import Any


def one_of(words: Collection[str]) -> Callable[[str], str]:
    """A validator whose error names the allowed words."""

    def check(given: str) -> str:
        if given not in words:
            raise ValueError(f"Allowed are {', '.join(words)}; not {given[:100]!r}")
        return given

    return check


def as_enum(words: Collection[str]) -> dict[str, Any]:
    """The words, for the OpenAPI document."""
    return {"enum": list(words)}
