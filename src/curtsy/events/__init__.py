"""Events are rows; whoever follows them reads on from where it was, and misses none."""

from curtsy.events.feed import Feed, Followed
from curtsy.events.following import JobGone
from curtsy.events.log_lines import LogLine, log_lines
from curtsy.events.rows import BadPlace, Fact, Place, end_of_all, read_job_after

__all__ = [
    "BadPlace",
    "Fact",
    "Feed",
    "Followed",
    "JobGone",
    "LogLine",
    "Place",
    "end_of_all",
    "log_lines",
    "read_job_after",
]
