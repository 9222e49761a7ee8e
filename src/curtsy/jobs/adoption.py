"""What somebody wants of a job that was asked for before, beside its pages: the job gets it.

Its webhook, if it has none yet, and its tags. This comes last in a transaction, where jobs are
locked.
"""

from collections.abc import Sequence
from typing import Any

from curtsy.events.webhooks import announce
from curtsy.jobs.idempotency import require_same_hook
from curtsy.jobs.insert import insert_tags
from curtsy.jobs.request import JobRequest
from curtsy.store import Connection, Statement

_LOCK = Statement(
    """
    SELECT id, public_id, webhook_url, round, finished_at FROM jobs
    WHERE public_id IN (SELECT job FROM {wanted}) ORDER BY id {lock}
    """,
    wanted={"job": "text"},
)
_HOOK = Statement(
    """
    UPDATE jobs SET webhook_url = w.url FROM (SELECT * FROM {wanted}) w WHERE jobs.id = w.job_id
    """,
    wanted={"job_id": "bigint", "url": "text"},
)


def adopt(connection: Connection, repeated: Sequence[tuple[str, JobRequest]], *, now: int) -> None:
    """Of jobs, each with the request that found it. One that has ended already tells of that at
    once. Raises where somebody else was quicker with another webhook."""
    wishes = [(job, of) for job, of in repeated if of.webhook_url or of.tags]
    if not wishes:
        return
    jobs = {row.public_id: row for row in
            _LOCK(connection, wanted=[(job,) for job in {job for job, _of in wishes}])}  # fmt: skip
    there = [(jobs[job], of) for job, of in wishes if job in jobs]
    hooks = _new_hooks(there)
    if hooks:
        _HOOK(connection, wanted=[(row.id, url) for row, url in hooks])
    announce(connection, [
        (row.id, row.round, url) for row, url in hooks if row.finished_at is not None
    ], now=now)  # fmt: skip
    tags = [(tag, row.id) for row, of in there for tag in of.tags]
    insert_tags(connection, tags)


def _new_hooks(there: Sequence[tuple[Any, JobRequest]]) -> list[tuple[Any, str]]:
    new: dict[int, tuple[Any, str]] = {}
    for row, of in there:
        known = row.webhook_url or (new[row.id][1] if row.id in new else None)
        require_same_hook(row.public_id, known, of.webhook_url)
        if known is None and of.webhook_url is not None:
            new[row.id] = row, of.webhook_url
    return list(new.values())
