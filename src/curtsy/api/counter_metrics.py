"""Metrics of all time from the history: counters and histograms, which other systems can add up."""

from collections.abc import Iterator, Mapping

from curtsy.api.exposition import Family
from curtsy.clock import SECOND
from curtsy.history.counters import Counters
from curtsy.history.histogram import BOUNDS, Histogram
from curtsy.history.totals import Totals

SECONDS = [bound / SECOND for bound in BOUNDS]


def counter_families(found: Counters) -> Iterator[Family]:
    """Yields the metrics of the whole system, and some of them for each described source."""
    whole = found.totals
    yield _attempts(whole)
    yield _pages(whole)
    yield _retries(whole)
    yield Family("curtsy_dead_letters_total", "Pages given up, once for each dead letter.",
                 "counter").add(whole.dead_letters)  # fmt: skip
    yield Family("curtsy_received_bytes_total", "Bytes of responses.", "counter").add(whole.bytes)
    yield _durations("curtsy_fetch_duration_seconds", "From a request to its recorded result.",
                     whole.fetch)  # fmt: skip
    yield _durations("curtsy_wait_duration_seconds",
                     "From when a page could have been requested to its request.",
                     whole.wait)  # fmt: skip
    yield _waits(whole)
    yield from _of_sources(found.sources)


def _attempts(whole: Totals) -> Family:
    family = Family("curtsy_attempts_total", "Requests for pages, by outcome and kind of failure.",
                    "counter")  # fmt: skip
    for outcome, number in whole.attempts.items():
        if outcome != "failed":
            family.add(number, outcome=outcome, kind="")
    for kind, number in whole.kinds.items():
        family.add(number, outcome="failed", kind=kind)
    return family


def _pages(whole: Totals) -> Family:
    family = Family("curtsy_pages_total", "Pages that ended, by result and band.", "counter")
    for band, totals in whole.bands.items():
        family.add(totals.succeeded, result="succeeded", band=band)
        family.add(totals.failed, result="failed", band=band)
    return family


def _retries(whole: Totals) -> Family:
    family = Family("curtsy_retries_total", "Failures after which a page waits for another try.",
                    "counter")  # fmt: skip
    for kind, number in whole.retried_kinds.items():
        family.add(number, kind=kind)
    return family


def _durations(name: str, text: str, durations: Histogram) -> Family:
    counts = [durations.counts.get(bucket, 0) for bucket in range(len(BOUNDS) + 1)]
    return Family(name, text, "histogram").add_histogram(SECONDS, counts, durations.sum_ms / SECOND)


def _waits(whole: Totals) -> Family:
    family = Family("curtsy_wait_seconds_total",
                    "How long pages waited, by reason; all but `capacity` are deliberate.",
                    "counter")  # fmt: skip
    for reason, ms in whole.waits.items():
        family.add(ms / SECOND, reason=reason)
    return family


def _of_sources(sources: Mapping[str, Totals]) -> Iterator[Family]:
    """Only described sources: their number is bounded, that of all sources is not."""
    attempts = Family("curtsy_source_attempts_total", "Requests to a source, by outcome.",
                      "counter")  # fmt: skip
    pages = Family("curtsy_source_pages_total", "Pages of a source that ended.", "counter")
    fetch = Family("curtsy_source_fetch_seconds_total", "Time of requests to a source.", "counter")
    waits = Family("curtsy_source_wait_seconds_total", "How long pages of a source waited.",
                   "counter")  # fmt: skip
    for name, totals in sources.items():
        for outcome, number in totals.attempts.items():
            attempts.add(number, source=name, outcome=outcome)
        pages.add(totals.succeeded, source=name, result="succeeded")
        pages.add(totals.failed, source=name, result="failed")
        fetch.add(totals.fetch.sum_ms / SECOND, source=name)
        for reason, ms in totals.waits.items():
            waits.add(ms / SECOND, source=name, reason=reason)
    yield from (attempts, pages, fetch, waits)
