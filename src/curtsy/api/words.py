"""The fetch door's words for the engine's states."""

from enum import StrEnum

from curtsy.model.jobs import JobState


class FetchStatus(StrEnum):
    QUEUED = "queued"
    COMPLETED = "completed"
    ERROR = "error"
    CANCELLED = "cancelled"


WORDS: dict[JobState, FetchStatus] = {
    JobState.SCHEDULED: FetchStatus.QUEUED,
    JobState.QUEUED: FetchStatus.QUEUED,
    JobState.RUNNING: FetchStatus.QUEUED,
    JobState.SUCCEEDED: FetchStatus.COMPLETED,
    JobState.PARTIAL: FetchStatus.COMPLETED,
    JobState.FAILED: FetchStatus.ERROR,
    JobState.CANCELLED: FetchStatus.CANCELLED,
}
"""A job of one URL is never partial; the word is there so that no state is without one."""

FILTERS = tuple(dict.fromkeys([*FetchStatus, *JobState]))


def states_of(word: str) -> list[JobState]:
    """The states that a word stands for; a word that both know is meant as the door shows it."""
    by_door = [state for state, status in WORDS.items() if status == word]
    return by_door or [JobState(word)]
