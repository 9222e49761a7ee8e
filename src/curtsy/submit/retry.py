"""Only the failures, again: the job opens for another round, its other results stay as they are."""

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.admit import Ranks
from curtsy.frontier.counting import Changes, Event, count
from curtsy.frontier.recording import lock_pages
from curtsy.frontier.sources import wake
from curtsy.model.jobs import band_of
from curtsy.store import Connection, Statement

_FIND = Statement("SELECT id, state FROM jobs WHERE public_id = :job")
_FAILED = Statement(
    """
    SELECT i.page_id, i.priority, h.source_id FROM items i
    JOIN pages p ON p.id = i.page_id JOIN hosts h ON h.host = p.host
    WHERE i.job_id = :job_id AND i.state = 2 ORDER BY i.position
    """
)
_REOPEN_ITEMS = Statement(
    """
    UPDATE items SET state = 0, kind = NULL, error = NULL, ended_at = NULL, fetched_at = NULL
    WHERE job_id = :job_id AND state = 2 AND page_id IN (SELECT page_id FROM {locked})
    RETURNING page_id
    """,
    locked={"page_id": "bigint"},
)
_INSERT_VISITS = Statement(
    """
    INSERT INTO visits (page_id, source_id, priority, rank, turn, created_at)
    SELECT w.page_id, w.source_id, w.priority, w.rank, p.turn + 1, :now
    FROM (SELECT * FROM {wanted}) w JOIN pages p ON p.id = w.page_id WHERE true
    ON CONFLICT (page_id) DO UPDATE SET priority = excluded.priority, rank = excluded.rank
    WHERE excluded.priority < visits.priority
    """,
    wanted={"page_id": "bigint", "source_id": "bigint", "priority": "smallint", "rank": "bigint"},
)
_SETTLE_LETTERS = Statement(
    """
    UPDATE dead_letters SET state = 'retried'
    WHERE state = 'open' AND page_id IN (SELECT page_id FROM {wanted})
    """,
    wanted={"page_id": "bigint"},
)


def retry_failures(connection: Connection, job: str, *, now: int) -> int:
    """How many pages wait again. Raises when the job has no failures."""
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    failed = list(_FAILED(connection, job_id=found.id))
    bands: dict[int, int] = {}
    for row in failed:
        bands[row.source_id] = min(bands.get(row.source_id, 3), band_of(row.priority))
    wake(connection, bands, now=now)
    lock_pages(connection, [row.page_id for row in failed])
    reopened = set(
        _REOPEN_ITEMS(connection, job_id=found.id, locked=[(r.page_id,) for r in failed]).scalars()
    )
    if not reopened:
        raise WrongState(f"Job {job}", f"{found.state} without failures", "retried")
    ranks = Ranks.read(connection, bands)
    wanted = [
        (row.page_id, row.source_id, row.priority, ranks.take(row.source_id, row.priority))
        for row in failed
        if row.page_id in reopened
    ]
    _INSERT_VISITS(connection, wanted=wanted, now=now)
    _SETTLE_LETTERS(connection, wanted=[(row[0],) for row in wanted])
    changes = Changes()
    changes[found.id].failed = -len(reopened)
    changes[found.id].reopened = True
    changes[found.id].events.append(Event("job_retried", data={"pages": len(reopened)}))
    count(connection, changes, now=now)
    return len(reopened)
