"""The doors' words for the engine's states: the table of the contract, and back again."""

from collections.abc import Mapping
from dataclasses import dataclass

from curtsy.model.jobs import JobState

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
"""A job of one URL is never partial; the word is there so that no state is without one."""
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
OPERATIONS: Mapping[JobState, str] = {
    _S.SCHEDULED: "pending",
    _S.QUEUED: "pending",
    _S.RUNNING: "started",
    _S.SUCCEEDED: "success",
    _S.PARTIAL: "success",
    _S.FAILED: "failure",
    _S.CANCELLED: "cancelled",
}
DOORS: Mapping[str, Mapping[JobState, str]] = {"fetch": FETCH, "articles": ARTICLES, "crawl": CRAWL}
IF_SOME_SUCCEEDED = {"articles": "COMPLETED", "crawl": "finished"}
"""What these doors call a job of which most failed, but not all."""


def word(door: str, state: JobState, done: int) -> str:
    """The state as the door that made the job calls it."""
    if state == JobState.FAILED and done and door in IF_SOME_SUCCEEDED:
        return IF_SOME_SUCCEEDED[door]
    return DOORS[door][state]


@dataclass(frozen=True, slots=True)
class Filter:
    """Jobs in one of these states; of the failed ones all, or only with or without a success."""

    states: tuple[JobState, ...]
    failed_with_success: bool | None = None


def _filters() -> dict[str, Filter]:
    """A word that several know is meant as the door shows it; the fetch door's come first."""
    made: dict[str, Filter] = {}
    for words in (FETCH, ARTICLES, CRAWL, OPERATIONS):
        for name in dict.fromkeys(words.values()):
            made.setdefault(name, Filter(tuple(s for s, w in words.items() if w == name)))
    for state in JobState:
        made.setdefault(state, Filter((state,)))
    made["FAILED"] = Filter((_S.FAILED,), failed_with_success=False)
    for name in IF_SOME_SUCCEEDED.values():
        made[name] = Filter((_S.SUCCEEDED, _S.PARTIAL, _S.FAILED), failed_with_success=True)
    return made


FILTERS = _filters()
