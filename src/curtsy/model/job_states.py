"""States of jobs and items, priority bands, and ids."""

import secrets
from enum import IntEnum, StrEnum


class JobState(StrEnum):
    SCHEDULED = "scheduled"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_STATES = (JobState.SCHEDULED, JobState.QUEUED, JobState.RUNNING)
PARTIAL_AT_MOST = 0.30
"""A job with a larger share of failed pages has failed."""


class ItemState(IntEnum):
    WAITING = 0
    DONE = 1
    FAILED = 2
    CANCELLED = 3


class Band(IntEnum):
    HIGH = 1
    MEDIUM = 2
    LOW = 3


def band_of(priority: int) -> Band:
    if priority <= 3:
        return Band.HIGH
    return Band.MEDIUM if priority <= 7 else Band.LOW


def final_state(*, total: int, failed: int, cancelled: int) -> JobState:
    """The state of a job all of whose items have ended."""
    if cancelled:
        return JobState.CANCELLED
    if not failed:
        return JobState.SUCCEEDED
    return JobState.PARTIAL if failed <= total * PARTIAL_AT_MOST else JobState.FAILED


def new_job_id() -> str:
    return f"job_{secrets.token_hex(6)}"


def page_name(page_id: int) -> str:
    return f"art_{page_id:x}"
