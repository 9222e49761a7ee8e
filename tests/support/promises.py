"""Invariants of the database that hold after every transaction."""

from typing import Any

import orjson

from curtsy.model.job_states import OPEN_STATES
from curtsy.store import Connection
from support.sql import run, text

_PROMISES = {
    "a job counts its items": """
        SELECT j.id, j.total, j.done, j.failed, j.cancelled FROM jobs j LEFT JOIN (
            SELECT job_id, count(*) AS total, sum(CASE state WHEN 1 THEN 1 ELSE 0 END) AS done,
                sum(CASE state WHEN 2 THEN 1 ELSE 0 END) AS failed,
                sum(CASE state WHEN 3 THEN 1 ELSE 0 END) AS cancelled
            FROM items GROUP BY job_id) i ON i.job_id = j.id
        WHERE (i.job_id IS NULL AND (j.total > 0 OR j.due_at IS NULL
                                     AND j.state NOT IN ('scheduled', 'cancelled', 'succeeded')))
           OR j.total <> i.total
           OR j.done <> i.done OR j.failed <> i.failed OR j.cancelled <> i.cancelled""",
    "a job is open exactly as long as items wait, or links": """
        SELECT id, state FROM jobs WHERE (state IN ('queued', 'running'))
            <> (done + failed + cancelled < total OR links_waiting > 0)""",
    "a job counts the pages whose links wait": """
        SELECT j.id, j.links_waiting FROM jobs j
        WHERE j.links_waiting <> (SELECT count(*) FROM links l WHERE l.job_id = j.id)
            + (SELECT count(*) FROM lists l WHERE l.job_id = j.id)""",
    "a crawl counts its pages and has no more than it may": """
        SELECT c.job_id, c.admitted, c.max_pages, j.total
        FROM crawls c JOIN jobs j ON j.id = c.job_id
        WHERE c.admitted <> j.total OR c.admitted > c.max_pages""",
    "a crawl has no page twice": """
        SELECT i.job_id, i.page_id FROM items i JOIN crawls c ON c.job_id = i.job_id
        GROUP BY i.job_id, i.page_id HAVING count(*) > 1""",
    "a visit that a crawl waits for says where it leads": """
        SELECT i.job_id, i.page_id FROM items i JOIN crawls c ON c.job_id = i.job_id
        JOIN jobs j ON j.id = i.job_id JOIN visits v ON v.page_id = i.page_id
        WHERE i.state = 0 AND i.depth < c.depth AND (i.uses & 2) = 2
          AND j.paused_at IS NULL AND NOT v.links""",
    "a waiting item has a visit": """
        SELECT i.job_id, i.page_id FROM items i JOIN jobs j ON j.id = i.job_id
        LEFT JOIN visits v ON v.page_id = i.page_id
        WHERE i.state = 0 AND v.page_id IS NULL AND j.paused_at IS NULL""",
    "a visit has a waiting item": """
        SELECT v.page_id FROM visits v WHERE NOT EXISTS (
            SELECT 1 FROM items i JOIN jobs j ON j.id = i.job_id
            WHERE i.page_id = v.page_id AND i.state = 0 AND j.paused_at IS NULL)""",
    "only an open job is paused": """
        SELECT id, state FROM jobs
        WHERE paused_at IS NOT NULL AND state NOT IN ('queued', 'running')""",
    "a visit is at the turn after its page's last": """
        SELECT v.page_id, v.turn, p.turn FROM visits v JOIN pages p ON p.id = v.page_id
        WHERE v.turn <> p.turn + 1""",
    "an attempt is of a turn that ended": """
        SELECT a.page_id, a.turn FROM attempts a JOIN pages p ON p.id = a.page_id
        WHERE a.turn > p.turn""",
    "a done item has its document": """
        SELECT i.job_id, i.page_id, i.document_version FROM items i LEFT JOIN documents d
        ON d.page_id = i.page_id AND d.version = i.document_version
        WHERE i.state = 1 AND d.page_id IS NULL""",
    "an item ended exactly when it waits no more": """
        SELECT job_id, page_id FROM items WHERE (state = 0) <> (ended_at IS NULL)""",
    "a job's events are numbered without gaps": """
        SELECT j.id, j.last_event, count(e.n) FROM jobs j LEFT JOIN events e ON e.job_id = j.id
        GROUP BY j.id, j.last_event
        HAVING count(e.n) <> j.last_event OR min(e.n) <> 1 OR max(e.n) <> j.last_event""",
}  # fmt: skip


def violations(connection: Connection) -> list[str]:
    """The broken promises, each with rows that break it."""
    found = []
    for promise, offenders in _PROMISES.items():
        if rows := run(connection, text(offenders)).all()[:5]:
            found.append(f"not true that {promise}: {[tuple(r) for r in rows]}")
    jobs = run(connection, text("SELECT * FROM jobs")).all()
    events = run(connection, text("SELECT job_id, name, data FROM events ORDER BY n")).all()
    by_job: dict[int, list[tuple[str, dict[str, Any]]]] = {job.id: [] for job in jobs}
    for job_id, name, data in events:
        by_job.setdefault(job_id, []).append((name, orjson.loads(data) if data else {}))
    for job in jobs:
        found += _event_mismatches(job, by_job[job.id])
    return found


def _event_mismatches(job: Any, events: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Where the events of a job do not add up to its counts."""

    def times(*names: str) -> int:
        return sum(name in names for name, _data in events)

    def total(of: str, key: str) -> int:
        return sum(data[key] for name, data in events if name == of)

    by_events = {
        "done": times("page_fetched", "page_not_modified") + job.cached,
        "failed": times("page_failed") - total("job_retried", "pages"),
        "cancelled": total("job_cancelled", "removed"),
    }
    found = [f"job {job.id} counts {getattr(job, what)} {what} but its events {number}"
             for what, number in by_events.items() if number != getattr(job, what)]  # fmt: skip
    stored = [job.state, job.done, job.failed, job.cancelled, job.total]
    if events and events[-1][1]["job"] != stored:
        found.append(f"job {job.id} is {stored} but its last event says {events[-1]}")
    rounds = [data["round"] for name, data in events if name == "job_finished"]
    if len(set(rounds)) != len(rounds):
        found.append(f"job {job.id} finished twice in a round: {rounds}")
    if (job.round in rounds) != (job.state not in OPEN_STATES):
        found.append(f"job {job.id} is {job.state} in round {job.round} but finished in {rounds}")
    return found
