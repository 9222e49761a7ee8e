"""What a source asks of us. Spans are milliseconds."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from curtsy.clock import HOUR
from curtsy.politeness.hours import Hours


@dataclass(frozen=True, slots=True)
class Policy:
    min_delay: int = 1_000
    """Between the starts of two requests."""
    max_delay: int = 0
    """Above `min_delay`: each delay is random between the two."""
    requests_per_hour: int = 0
    """In any hour, no more than this; 0: no such limit."""
    burst_limit: int = 1
    """So many may follow each other at `min_delay` before they are spread over the hour."""
    concurrency: int = 1
    hours: Hours | None = None
    max_retries: int = 3
    retry_base: int = 60_000
    retry_cap: int = 600_000
    give_up_probes: int = 4
    """So many failed probes in a row, and the host counts as dead."""
    give_up_after: int = 3_600_000
    """Or so long left alone after failures, rests that the host announced not counted."""
    robots: bool = True
    crawl_delay_cap: int = 60_000
    """A robots.txt may ask for more, and gets this."""
    timeout: int | None = None
    """For a whole attempt; None: as the worker is set."""
    headers: tuple[tuple[str, str], ...] = ()
    user_agent: str | None = None
    proxy: str | None = None

    @property
    def spread(self) -> float:
        """Between two starts, where the limit of the hour is spread evenly."""
        return HOUR / self.requests_per_hour if self.requests_per_hour else 0.0

    def with_overrides(self, overrides: Mapping[str, Any]) -> "Policy":
        known = {field.name for field in fields(self)}
        given = {name: value for name, value in overrides.items() if name in known}
        if given.get("hours") is not None:
            given["hours"] = Hours(**given["hours"])
        if "headers" in given:
            given["headers"] = tuple(dict(given["headers"]).items())
        return replace(self, **given)

    def minding(self, crawl_delay: int) -> "Policy":
        """The same, but no two requests closer than robots.txt asks for, as far as we heed it."""
        delay = min(crawl_delay, self.crawl_delay_cap) if self.robots else 0
        if self.min_delay >= delay:
            return self
        return replace(self, min_delay=delay, max_delay=max(self.max_delay, delay))
