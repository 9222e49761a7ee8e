"""What a source had of us in one day: proof of good manners, to be shown to the site's owner."""

from dataclasses import astuple, dataclass
from typing import Any


@dataclass(slots=True)
class Receipt:
    day: int
    """Since 1970, UTC."""
    requests: int = 0
    """Of all sorts, robots.txt included."""
    robots_requests: int = 0
    robots_refusals: int = 0
    """Pages that were not asked for because robots.txt says so."""
    smallest_gap_ms: int | None = None
    """Between two requests that left."""
    rests_announced: int = 0
    """Times that the site asked us to wait (Retry-After), and we did."""
    rests_of_our_own: int = 0
    """Times that we waited after a failure without being asked to."""
    not_modified: int = 0
    bytes: int = 0
    """That came, as they were transferred."""
    bytes_saved: int = 0
    """That need not come again, since the page was as we had it."""

    def left(self, gap: int | None) -> None:
        """A request, so long after the one before."""
        self.requests += 1
        if gap is not None:
            known = self.smallest_gap_ms
            self.smallest_gap_ms = gap if known is None else min(known, gap)

    def row(self) -> tuple[Any, ...]:
        return astuple(self)
