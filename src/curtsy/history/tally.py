"""The counts of a row of `history`, as they are added up and stored."""

from collections.abc import Mapping, Sequence
from operator import add

import orjson

from curtsy.history.facts import FAILED, NO_REQUEST, OUTCOMES, REASONS, Fact, Fate
from curtsy.history.histogram import BUCKETS, bucket_of

OF_KIND = 3
"""Numbers by kind: failed attempts, retries, pages given up."""


class Tally:
    """Mutable counts. `stored` and `add_stored` know the form of the column `counts`: an array, to
    which later versions may append."""

    __slots__ = ("attempts", "buried", "bytes", "failed", "fetch", "fetch_ms", "kinds", "retries",
                 "succeeded", "wait", "wait_ms", "waits")  # fmt: skip

    def __init__(self) -> None:
        self.attempts = [0] * len(OUTCOMES)
        self.succeeded = self.failed = self.retries = self.buried = self.bytes = 0
        self.kinds: dict[str, list[int]] = {}
        self.fetch, self.wait = [0] * BUCKETS, [0] * BUCKETS
        self.fetch_ms = self.wait_ms = 0
        self.waits = [0] * len(REASONS)

    @property
    def requests(self) -> int:
        return sum(self.attempts)

    @property
    def failures(self) -> int:
        """Attempts that failed."""
        return self.attempts[FAILED]

    def add(self, fact: Fact) -> None:
        (_minute, _source, _band, outcome, kind, fate, took, size,
         capacity, politeness, closed, backoff, until_next) = fact  # fmt: skip
        if outcome != NO_REQUEST:
            self.attempts[outcome] += 1
            self.fetch[bucket_of(took)] += 1
            self.fetch_ms += took
            self.bytes += size
            waited = capacity + politeness + closed + backoff
            self.wait[bucket_of(waited)] += 1
            self.wait_ms += waited
        waits = self.waits
        waits[0] += capacity
        waits[1] += politeness
        waits[2] += closed
        waits[3] += backoff + until_next
        if fate == Fate.SUCCEEDED:
            self.succeeded += 1
        elif kind is not None:
            self._add_failure(kind, outcome, fate)

    def _add_failure(self, kind: str, outcome: int, fate: int) -> None:
        of_kind = self.kinds.setdefault(kind, [0] * OF_KIND)
        of_kind[0] += outcome == FAILED
        if fate == Fate.RETRIED:
            self.retries += 1
            of_kind[1] += 1
        elif fate >= Fate.GIVEN_UP:
            self.failed += 1
            self.buried += fate == Fate.BURIED
            of_kind[2] += 1

    def merge(self, other: "Tally") -> None:
        self._add_numbers(other.attempts, other.succeeded, other.failed, other.retries,
                          other.buried, other.bytes, other.fetch_ms, other.wait_ms, other.waits,
                          other.kinds)  # fmt: skip
        self.fetch = list(map(add, self.fetch, other.fetch))
        self.wait = list(map(add, self.wait, other.wait))

    def add_stored(self, counts: str) -> None:
        *numbers, fetch, wait = orjson.loads(counts)[:12]
        self._add_numbers(*numbers)
        for known, stored in ((self.fetch, fetch), (self.wait, wait)):
            rest = iter(stored)
            for bucket, number in zip(rest, rest, strict=True):
                known[bucket] += number

    def stored(self) -> str:
        """Of the buckets only those that are not empty, each with its number."""
        fetch, wait = ([part for pair in enumerate(counts) if pair[1] for part in pair]
                       for counts in (self.fetch, self.wait))  # fmt: skip
        return orjson.dumps([
            self.attempts, self.succeeded, self.failed, self.retries, self.buried, self.bytes,
            self.fetch_ms, self.wait_ms, self.waits, self.kinds, fetch, wait,
        ]).decode()  # fmt: skip

    def _add_numbers(
        self, attempts: Sequence[int], succeeded: int, failed: int, retries: int, buried: int,
        received: int, fetch_ms: int, wait_ms: int, waits: Sequence[int],
        kinds: Mapping[str, Sequence[int]],
    ) -> None:  # fmt: skip
        self.attempts = _sums(self.attempts, attempts)
        self.succeeded += succeeded
        self.failed += failed
        self.retries += retries
        self.buried += buried
        self.bytes += received
        self.fetch_ms += fetch_ms
        self.wait_ms += wait_ms
        self.waits = _sums(self.waits, waits)
        for kind, numbers in kinds.items():
            self.kinds[kind] = _sums(self.kinds.get(kind, (0,) * OF_KIND), numbers)

    def of_kinds(self, position: int) -> dict[str, int]:
        found = {kind: numbers[position] for kind, numbers in sorted(self.kinds.items())}
        return {kind: number for kind, number in found.items() if number}


def tally_of(counts: str) -> Tally:
    tally = Tally()
    tally.add_stored(counts)
    return tally


def _sums(some: Sequence[int], others: Sequence[int]) -> list[int]:
    return list(map(add, some, others))
