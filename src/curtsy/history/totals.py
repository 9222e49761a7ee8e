"""What happened in a period, as readers see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from curtsy.clock import MINUTE
from curtsy.history.facts import OUTCOMES, REASONS
from curtsy.history.histogram import Histogram
from curtsy.history.tally import Tally
from curtsy.model.job_states import Band


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of a period. An attempt is a request for a page; a page ends with its last one."""

    since: int
    until: int
    """The period that is really covered: rows are of whole minutes, hours or days."""
    attempts: Mapping[str, int]
    """By outcome."""
    succeeded: int
    """Pages that ended as fetched or not modified."""
    failed: int
    """Pages that were given up, with or without a request."""
    retries: int
    """Failures after which the page waits for another try."""
    bytes: int
    dead_letters: int
    """Pages given up that had no open dead letter before."""
    kinds: Mapping[str, int]
    """Failed attempts by kind."""
    retried_kinds: Mapping[str, int]
    """Retries by kind."""
    failed_kinds: Mapping[str, int]
    """Pages given up, by kind."""
    fetch: Histogram
    """Durations of attempts, from the request to the record."""
    wait: Histogram
    """How long the pages of the attempts waited since they could have been requested."""
    waits: Mapping[str, int]
    """Milliseconds waited, by reason."""
    bands: Mapping[str, "Totals"] = field(default_factory=dict)
    """The same by band; empty for a source."""

    @property
    def requests(self) -> int:
        return sum(self.attempts.values())

    @property
    def success_rate(self) -> float | None:
        """The share of successes among the pages that ended; None if none did."""
        ended = self.succeeded + self.failed
        return self.succeeded / ended if ended else None

    @property
    def pages_per_minute(self) -> float:
        return (self.succeeded + self.failed) * MINUTE / max(MINUTE, self.until - self.since)


class SourceTotals(NamedTuple):
    source_id: int
    name: str | None
    """None: the source was deleted."""
    totals: Totals


class Point(NamedTuple):
    at: int
    span_ms: int
    totals: Totals


def totals_of(
    tally: Tally, *, since: int, until: int, bands: Mapping[int, Tally] | None = None
) -> Totals:
    return Totals(
        since=since, until=until, attempts=dict(zip(OUTCOMES, tally.attempts, strict=True)),
        succeeded=tally.succeeded, failed=tally.failed, retries=tally.retries, bytes=tally.bytes,
        dead_letters=tally.buried, kinds=tally.of_kinds(0), retried_kinds=tally.of_kinds(1),
        failed_kinds=tally.of_kinds(2), fetch=Histogram.of(tally.fetch, tally.fetch_ms),
        wait=Histogram.of(tally.wait, tally.wait_ms),
        waits=dict(zip(REASONS, tally.waits, strict=True)),
        bands={Band(band).name.lower(): totals_of(one, since=since, until=until)
               for band, one in sorted((bands or {}).items())},
    )  # fmt: skip
