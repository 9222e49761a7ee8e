"""Reopens failed items: they wait again, and their pages are visited again."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from curtsy.frontier.admit import JOIN_WAITING_VISIT
from curtsy.frontier.crawls.leads import depths
from curtsy.frontier.dead_letters import mark_retried
from curtsy.frontier.flush_rows import lock_pages
from curtsy.frontier.job_counts import Changes, Event, count
from curtsy.frontier.ranks import Ranks
from curtsy.frontier.sources import wake
from curtsy.model.job_states import band_of
from curtsy.model.page_use import is_followed
from curtsy.store import Connection, Statement

_REOPEN_ITEMS = Statement(
    """
    UPDATE items SET state = 0, kind = NULL, error = NULL, ended_at = NULL, fetched_at = NULL
    WHERE (job_id, position) IN (SELECT job_id, position FROM {failed}) AND state = 2
    RETURNING job_id, position
    """,
    failed={"job_id": "bigint", "position": "int"},
)
_INSERT_VISITS = Statement(
    f"""
    INSERT INTO visits (page_id, source_id, priority, rank, turn, links, created_at)
    SELECT w.page_id, w.source_id, w.priority, w.rank, p.turn + 1, w.links, :now
    FROM (SELECT * FROM {{wanted}}) w JOIN pages p ON p.id = w.page_id WHERE true
    {JOIN_WAITING_VISIT}
    """,  # noqa: S608
    wanted={"page_id": "bigint", "source_id": "bigint", "priority": "smallint", "rank": "bigint",
            "links": "bool"},
)  # fmt: skip
_PAUSED = Statement(
    "SELECT id FROM jobs WHERE paused_at IS NOT NULL AND id IN (SELECT id FROM {wanted})",
    wanted={"id": "bigint"},
)


class OldItem(NamedTuple):
    """An ended or paused item that may wait again."""

    job_id: int
    position: int
    page_id: int
    priority: int
    source_id: int
    depth: int
    uses: int


@dataclass(frozen=True, slots=True)
class Reopened:
    pages: int
    items: int
    jobs: int


def reopen(connection: Connection, failed: Sequence[OldItem], *, now: int) -> Reopened:
    """Reopens those of the items that are still failed after their pages were locked."""
    bands = wake_and_lock(connection, failed, now=now)
    places = [(item.job_id, item.position) for item in failed]
    opened = {tuple(row) for row in _REOPEN_ITEMS(connection, failed=places)} if places else set()
    items = [item for item in failed if (item.job_id, item.position) in opened]
    paused = _paused(connection, {item.job_id for item in items})
    visited = [item for item in items if item.job_id not in paused]
    visit_again(connection, visited, bands, now=now)
    pages = {item.page_id for item in items}
    mark_retried(connection, pages)
    changes = Changes()
    for item in items:
        changes[item.job_id].reopened = True
    of_job = Counter(item.job_id for item in items)
    for job_id, change in changes.items():
        number = of_job[job_id]
        change.events.append(Event("job_retried", data={"pages": number}, failed=-number))
    count(connection, changes, now=now)
    return Reopened(pages=len(pages), items=len(items), jobs=len(changes))


def wake_and_lock(connection: Connection, items: Sequence[OldItem], *, now: int) -> dict[int, int]:
    """Wakes the sources of the items and locks their pages; returns the bands of the sources."""
    bands: dict[int, int] = {}
    for item in items:
        bands[item.source_id] = min(bands.get(item.source_id, 3), band_of(item.priority))
    wake(connection, bands, now=now)
    lock_pages(connection, sorted({item.page_id for item in items}))
    return bands


def visit_again(
    connection: Connection, items: Sequence[OldItem], bands: Collection[int], *, now: int
) -> None:
    """Inserts a visit for each page of the items. The pages are locked; `bands` are their
    sources."""
    best: dict[int, OldItem] = {}
    for item in items:  # the best priority of several jobs
        known = best.setdefault(item.page_id, item)
        if item.priority < known.priority:
            best[item.page_id] = item
    if not best:
        return
    ranks = Ranks.read(connection, bands)
    deepest = depths(connection, {item.job_id for item in items})
    followed = {item.page_id for item in items
                if is_followed(item.uses) and item.depth < deepest.get(item.job_id, 0)}  # fmt: skip
    wanted = [
        (item.page_id, item.source_id, item.priority, ranks.take(item.source_id, item.priority),
         item.page_id in followed)
        for item in best.values()
    ]  # fmt: skip
    _INSERT_VISITS(connection, wanted=wanted, now=now)


def _paused(connection: Connection, jobs: Collection[int]) -> set[int]:
    """The jobs that are paused: their pages get no visits."""
    return set(_PAUSED(connection, wanted=[(i,) for i in jobs]).scalars()) if jobs else set()
