"""Log lines of runs, with the ids that correlate the lines of all processes."""

import uuid
from typing import NamedTuple

from curtsy.logs import logger

log = logger("runs")


class RunEvent(NamedTuple):
    """A step of a run that its worker logs."""

    event: str
    site: str
    run: str
    status: str
    url: str | None = None
    kind: str | None = None
    """The failure's kind, for a page that failed or is retried."""
    reason: str | None = None
    again_at: str | None = None


def task_id(run_id: str) -> str:
    """A second id of the run, derived from the first: the runs door returns both."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, run_id))


def log_run(event: str, site: str, run: str, status: str, **facts: str | None) -> None:
    given = {name: value for name, value in facts.items() if value is not None}
    log.info(event, site_name=site, run_id=run, task_id=task_id(run), status=status, **given)


def log_run_event(event: RunEvent) -> None:
    name, site, run, status, *_facts = event
    log_run(name, site, run, status, url=event.url, kind=event.kind, reason=event.reason,
            again_at=event.again_at)  # fmt: skip
