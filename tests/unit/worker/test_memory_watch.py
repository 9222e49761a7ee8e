"""A worker's memory counts as above its limit when it stays there, and is reported once."""

from collections.abc import Iterable

import pytest

from curtsy.worker import memory_watch
from curtsy.worker.memory_watch import FIRST_AFTER, MemoryWatch

LIMIT = 1_000
OLD = FIRST_AFTER + 1


class Watched:
    """A watch over a memory and a clock that the test sets."""

    def __init__(self, limit: int | None = LIMIT, *, age: int = OLD) -> None:
        self.used: int | None = 0
        self.now = 0
        self.reported: list[int] = []
        self.watch = MemoryWatch(
            limit=limit, measure=lambda: self.used, monotonic=lambda: self.now,
            on_exceeded=self.reported.append,
        )  # fmt: skip
        self.now = age

    def measured(self, uses: Iterable[int | None]) -> list[int]:
        """Measures each of these; returns what was reported so far."""
        for self.used in uses:
            assert self.watch() == self.used
        return self.reported


@pytest.fixture(autouse=True)
def given_back(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Notes each time that memory was given back to the system."""
    times: list[None] = []
    monkeypatch.setattr(memory_watch, "_give_back", lambda: times.append(None))
    return times


def test_memory_that_stays_above_the_limit_is_reported_once() -> None:
    assert Watched().measured([1_001, 1_002]) == []
    assert Watched().measured([1_001, 1_002, 1_003, 1_004, 1_005]) == [1_003]


def test_a_peak_is_not_reported() -> None:
    assert Watched().measured([2_000, 2_000, 1_000, 2_000, 2_000, 900]) == []


def test_memory_that_was_below_the_limit_in_between_is_reported_again() -> None:
    assert Watched().measured([1_001] * 5 + [1_000] + [1_009] * 5) == [1_001, 1_009]


def test_a_young_worker_is_reported_once_it_is_no_longer_young() -> None:
    watched = Watched(age=FIRST_AFTER - 1)
    assert watched.measured([1_001] * 10) == []
    watched.now = FIRST_AFTER
    assert watched.measured([1_002, 1_003]) == [1_002]


def test_free_memory_is_given_back_before_it_counts(given_back: list[None]) -> None:
    assert Watched().measured([1_001, 1_001, 1_001, 900, 1_001]) == [1_001]
    assert len(given_back) == 2, "each time that the limit is crossed"


def test_what_is_free_after_all_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched()

    def give_back() -> None:
        watched.used = 10

    monkeypatch.setattr(memory_watch, "_give_back", give_back)
    watched.used = 5_000
    assert watched.watch() == 10
    assert watched.measured([1_001, 1_001]) == []


def test_without_a_limit_and_without_a_figure_nothing_is_reported(given_back: list[None]) -> None:
    assert Watched(None).measured([10**12] * 5) == []
    assert Watched().measured([None] * 5) == []
    assert not given_back
