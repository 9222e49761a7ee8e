"""Messages that live clients receive: the fields of the API contract, and fields of our own."""

from typing import Any

import orjson

from curtsy.clock import rfc3339
from curtsy.events import Place, StoredEvent
from curtsy.jobs.job import Job
from curtsy.jobs.listing import TOTAL_CAP
from curtsy.model.job_states import JobState, page_name
from curtsy.model.status_words import word

_PAGE_ENDS = ("page_fetched", "page_not_modified", "page_failed")


def is_update(event: StoredEvent) -> bool:
    """Whether the event is the end of a page or a change of the job."""
    return event.name.startswith("job_") or event.name in _PAGE_ENDS


def update(event: StoredEvent) -> bytes:
    """Renders the message once, however many clients follow the job."""
    if "update" not in event.rendered:
        message = _message(event) | {"seq": event.n}
        event.rendered["update"] = orjson.dumps(message)
    return event.rendered["update"]


def update_of_all(event: StoredEvent) -> bytes:
    """The same message for clients that follow all jobs: `seq` is the place among all events."""
    if "of_all" not in event.rendered:
        message = _message(event) | {"seq": str(event.place)}
        event.rendered["of_all"] = orjson.dumps(message)
    return event.rendered["of_all"]


def state_now(row: Job, *, seq: int) -> bytes:
    """The first message to a client that follows a job: its current state."""
    state = JobState(row.state)
    return orjson.dumps({
        "type": "job_update", "job_id": row.public_id, "article_id": None,
        "status": word(row.door, state, row.done), "completed": row.done, "failed": row.failed,
        "total": row.total, "state": state, "event": "state", "seq": seq,
        "last_seq": row.last_event,
    })  # fmt: skip


def state_of_all(open_jobs: int, *, place: Place) -> bytes:
    """The first message to a client that follows all jobs: the number of open jobs. The message
    belongs to no job; it has the fields of an update for programs that expect them."""
    return orjson.dumps({
        "type": "state", "job_id": None, "article_id": None, "status": None, "completed": 0,
        "failed": 0, "total": 0, "open_jobs": min(open_jobs, TOTAL_CAP),
        "open_jobs_is_capped": open_jobs > TOTAL_CAP, "event": "state", "seq": str(place),
    })  # fmt: skip


def _message(event: StoredEvent) -> dict[str, Any]:
    state, done, failed, _cancelled, total = event.job_progress
    message: dict[str, Any] = {
        "type": "job_update", "job_id": event.job,
        "article_id": page_name(event.page_id) if event.page_id is not None else None,
        "status": word(event.door, JobState(state), done), "completed": done, "failed": failed,
        "total": total, "state": state, "event": event.name, "at": rfc3339(event.at),
    }  # fmt: skip
    for field in ("url", "error", "kind"):
        if event.data.get(field) is not None:
            message[field] = event.data[field]
    return message
