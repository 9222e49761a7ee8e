"""What a source asks of us. Spans are milliseconds."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Policy:
    min_delay: int = 1_000
    """Between the starts of two requests."""
    max_delay: int = 0
    """Above `min_delay`: each delay is random between the two."""
    concurrency: int = 1
    max_retries: int = 3
    retry_base: int = 60_000
    retry_cap: int = 600_000
    give_up_probes: int = 4
    """So many failed probes in a row, and the host counts as dead."""
    give_up_after: int = 3_600_000
    """Or so long without a success, rests that the host announced not counted."""

    def with_overrides(self, overrides: Mapping[str, Any]) -> "Policy":
        known = {field.name for field in fields(self)}
        return replace(self, **{name: v for name, v in overrides.items() if name in known})

    def at_least(self, delay: int) -> "Policy":
        """The same, but no two requests closer than this."""
        if self.min_delay >= delay:
            return self
        return replace(self, min_delay=delay, max_delay=max(self.max_delay, delay))
