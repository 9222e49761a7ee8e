"""Events are stored rows. A follower continues after the last event it read and misses none."""

from curtsy.events.feed import Feed, Followed
from curtsy.events.log_lines import LogLine, log_lines
from curtsy.events.stored_events import BadPlace, Place, StoredEvent, end_of_all, read_job_after
from curtsy.events.subscription import JobGone

__all__ = [
    "BadPlace",
    "Feed",
    "Followed",
    "JobGone",
    "LogLine",
    "Place",
    "StoredEvent",
    "end_of_all",
    "log_lines",
    "read_job_after",
]
