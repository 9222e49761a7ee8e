"""Translates job states to the status words of each door, and status words to filters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from curtsy.model.job_states import JobState

_S = JobState

FETCH: Mapping[JobState, str] = {
    _S.SCHEDULED: "queued",
    _S.QUEUED: "queued",
    _S.RUNNING: "queued",
    _S.SUCCEEDED: "completed",
    _S.PARTIAL: "completed",
    _S.FAILED: "error",
    _S.CANCELLED: "cancelled",
}
"""A job of one URL is never partial; PARTIAL is here so that every state has a word."""
ARTICLES: Mapping[JobState, str] = {
    _S.SCHEDULED: "PENDING",
    _S.QUEUED: "IN_PROGRESS",
    _S.RUNNING: "IN_PROGRESS",
    _S.SUCCEEDED: "COMPLETED",
    _S.PARTIAL: "COMPLETED",
    _S.FAILED: "FAILED",
    _S.CANCELLED: "CANCELLED",
}
CRAWL: Mapping[JobState, str] = {
    _S.SCHEDULED: "pending",
    _S.QUEUED: "pending",
    _S.RUNNING: "running",
    _S.SUCCEEDED: "finished",
    _S.PARTIAL: "finished",
    _S.FAILED: "error",
    _S.CANCELLED: "cancelled",
}
RUNS: Mapping[JobState, str] = {
    state: "queued" if state is _S.SCHEDULED else state.value for state in JobState
}
OPERATIONS: Mapping[JobState, str] = {
    _S.SCHEDULED: "pending",
    _S.QUEUED: "pending",
    _S.RUNNING: "started",
    _S.SUCCEEDED: "success",
    _S.PARTIAL: "success",
    _S.FAILED: "failure",
    _S.CANCELLED: "cancelled",
}
DOORS: Mapping[str, Mapping[JobState, str]] = {
    "fetch": FETCH, "articles": ARTICLES, "crawl": CRAWL, "runs": RUNS,
}  # fmt: skip
IF_SOME_SUCCEEDED = {"articles": "COMPLETED", "crawl": "finished"}
"""The word of these doors for a failed job with some successful pages."""


def word(door: str, state: JobState, done: int) -> str:
    """The status word for the state, at the door that created the job."""
    if state == JobState.FAILED and done and door in IF_SOME_SUCCEEDED:
        return IF_SOME_SUCCEEDED[door]
    return DOORS[door][state]


class HasState(Protocol):
    """What a filter needs to know of a job."""

    @property
    def state(self) -> str: ...
    @property
    def door(self) -> str: ...
    @property
    def done(self) -> int: ...


@dataclass(frozen=True, slots=True)
class StatusFilter:
    """Matches jobs of certain doors in certain states."""

    whole: frozenset[tuple[str, str]]
    """State and door of matching jobs."""
    failed: frozenset[tuple[str, bool]] = frozenset()
    """Doors whose failed jobs match only with (True) or without (False) a successful page."""

    def fits(self, row: HasState) -> bool:
        is_failed = row.state == JobState.FAILED and (row.door, row.done > 0) in self.failed
        return is_failed or (row.state, row.door) in self.whole

    def __or__(self, other: "StatusFilter") -> "StatusFilter":
        return StatusFilter(self.whole | other.whole, self.failed | other.failed)

    def of(self, door: str) -> "StatusFilter":
        return StatusFilter(
            frozenset(pair for pair in self.whole if pair[1] == door),
            frozenset(pair for pair in self.failed if pair[0] == door),
        )


NO_JOB = StatusFilter(frozenset())


def in_states(*states: JobState) -> StatusFilter:
    """Matches jobs of all doors in these states."""
    return StatusFilter(frozenset((state.value, door) for state in states for door in DOORS))


def _shown_as(name: str) -> StatusFilter:
    """Matches jobs that show this word, as the status at their door or as their state."""
    whole: set[tuple[str, str]] = set()
    failed: set[tuple[str, bool]] = set()
    for door in DOORS:
        for state in JobState:
            fits = [name in (state, word(door, state, done)) for done in (0, 1)]
            if all(fits):
                whole.add((state.value, door))
            elif any(fits):
                failed.add((door, fits[1]))
    return StatusFilter(frozenset(whole), frozenset(failed))


def _filters() -> dict[str, StatusFilter]:
    """Filters by word. The operations door creates no jobs, so its words match jobs of all
    doors."""
    names = dict.fromkeys(w for words in DOORS.values() for w in words.values())
    filters = {name: _shown_as(name) for name in [*names, *IF_SOME_SUCCEEDED.values(), *JobState]}
    for name in OPERATIONS.values():
        states = (state for state, shown in OPERATIONS.items() if shown == name)
        filters[name] = in_states(*states) | filters.get(name, NO_JOB)
    return {str(name): wanted for name, wanted in filters.items()}


FILTERS = _filters()
EVERY_STATE = in_states(*JobState)
