"""What live clients are told of an event: the message of the articles document, and ours."""

from typing import Any

import orjson

from curtsy.clock import rfc3339
from curtsy.events import Place, StoredEvent
from curtsy.jobs.job import Job
from curtsy.jobs.listing import TOTAL_CAP
from curtsy.model.jobs import JobState, page_name
from curtsy.model.status_words import word

_PAGE_ENDS = ("page_fetched", "page_not_modified", "page_failed")


def is_update(fact: StoredEvent) -> bool:
    """A page that ended, or a change of the job."""
    return fact.name.startswith("job_") or fact.name in _PAGE_ENDS


def update(fact: StoredEvent) -> bytes:
    """Rendered once, however many listen."""
    if "update" not in fact.rendered:
        message = _message(fact) | {"seq": fact.n}
        fact.rendered["update"] = orjson.dumps(message)
    return fact.rendered["update"]


def update_of_all(fact: StoredEvent) -> bytes:
    """The same for one who follows all jobs: numbered by its place among all events."""
    if "of_all" not in fact.rendered:
        message = _message(fact) | {"seq": str(fact.place)}
        fact.rendered["of_all"] = orjson.dumps(message)
    return fact.rendered["of_all"]


def state_now(row: Job, *, seq: int) -> bytes:
    """How the job stands, for one who has just come."""
    state = JobState(row.state)
    return orjson.dumps({
        "type": "job_update", "job_id": row.public_id, "article_id": None,
        "status": word(row.door, state, row.done), "completed": row.done, "failed": row.failed,
        "total": row.total, "state": state, "event": "state", "seq": seq,
        "last_seq": row.last_event,
    })  # fmt: skip


def state_of_all(open_jobs: int, *, place: Place) -> bytes:
    """How much goes on, for one who has just come to follow all jobs. The fields of an update are
    there for programs that expect them in every message; it is of no job."""
    return orjson.dumps({
        "type": "state", "job_id": None, "article_id": None, "status": None, "completed": 0,
        "failed": 0, "total": 0, "open_jobs": min(open_jobs, TOTAL_CAP),
        "open_jobs_is_capped": open_jobs > TOTAL_CAP, "event": "state", "seq": str(place),
    })  # fmt: skip


def _message(fact: StoredEvent) -> dict[str, Any]:
    state, done, failed, _cancelled, total = fact.job_progress
    message: dict[str, Any] = {
        "type": "job_update", "job_id": fact.job,
        "article_id": page_name(fact.page_id) if fact.page_id is not None else None,
        "status": word(fact.door, JobState(state), done), "completed": done, "failed": failed,
        "total": total, "state": state, "event": fact.name, "at": rfc3339(fact.at),
    }  # fmt: skip
    for known in ("url", "error", "kind"):
        if fact.data.get(known) is not None:
            message[known] = fact.data[known]
    return message
