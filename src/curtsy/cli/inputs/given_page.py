"""A page as an input names it."""

from typing import Any, NamedTuple


class GivenPage(NamedTuple):
    at: str
    """Where it stands, for people: `urls.txt line 3`; empty for an argument."""
    url: str
    labels: dict[str, Any] = {}  # noqa: RUF012  # never written to
    """`source`, `category` and `priority`, where the input has them."""
    problem: str | None = None
    """Why the input says no page here."""
