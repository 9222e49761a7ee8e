"""A day's receipt of a source: what curtsy sent and saved, to be shown to the site's owner."""

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Receipt:
    day: int
    """Days since 1970, UTC."""
    requests: int = 0
    """All requests, robots.txt included."""
    robots_requests: int = 0
    robots_refusals: int = 0
    """Pages that were not fetched because robots.txt denies them."""
    smallest_gap_ms: int | None = None
    """The smallest time between two requests."""
    rests_announced: int = 0
    """Rests that the site asked for (Retry-After)."""
    rests_of_our_own: int = 0
    """Rests after a failure that the site did not ask for."""
    not_modified: int = 0
    bytes: int = 0
    """Bytes received, as transferred."""
    bytes_saved: int = 0
    """Bytes not transferred because the page was unchanged."""

    def request_left(self, gap: int | None) -> None:
        """Counts a request that left this long after the one before."""
        self.requests += 1
        if gap is not None:
            known = self.smallest_gap_ms
            self.smallest_gap_ms = gap if known is None else min(known, gap)

    def row(self) -> tuple[Any, ...]:
        """In the order of the fields."""
        return (
            self.day, self.requests, self.robots_requests, self.robots_refusals,
            self.smallest_gap_ms, self.rests_announced, self.rests_of_our_own, self.not_modified,
            self.bytes, self.bytes_saved,
        )  # fmt: skip
