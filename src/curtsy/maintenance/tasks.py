"""What curtsy does for itself on a schedule, by name. Each may run anywhere, and more than once."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from curtsy.access import sessions
from curtsy.clock import DAY, Clock
from curtsy.errors import NotFound
from curtsy.jobs import LetterSelection, Settled, idempotency, purge_some, retry_letters
from curtsy.jobs.purge import BATCH as PURGE_BATCH
from curtsy.jobs.purge import old_jobs
from curtsy.model.failure_kinds import RULES
from curtsy.schedules.firings import delete_old
from curtsy.sites.retention import (
    forget_records,
    forget_sightings,
    runs_gone,
    sites_with_old_records,
)
from curtsy.store import Connection, Statement, Store

NOT_BUILT: Mapping[str, str] = {"health": "monitoring", "reports": "monitoring"}
"""Named in the contract; the part that brings each."""
NAMES = ("health", "reports", "dead_letters", "cleanup")
MOST_RETRIES = 3
"""Of one page, without anybody asking for it."""
MOST_JOBS = 1_000
"""That one cleanup forgets; the next goes on."""

_RECOVERED = Statement(
    """
    SELECT d.id FROM dead_letters d JOIN sources s ON s.id = d.source_id
    WHERE d.state = 'open' AND d.kind IN (SELECT kind FROM {retried}) AND d.id > :after
      AND s.failing_since IS NULL AND s.fail_streak = 0 AND NOT s.paused
      AND (SELECT count(*) FROM dead_letters e
           WHERE e.page_id = d.page_id AND e.state = 'retried') < :most_retries
      AND NOT EXISTS (
        SELECT 1 FROM items i JOIN jobs j ON j.id = i.job_id
        JOIN jobs k ON k.site_id = j.site_id AND k.id <> j.id
        WHERE i.page_id = d.page_id AND i.state = 2 AND j.state <> 'cancelled'
          AND k.site_id IS NOT NULL AND (k.finished_at IS NULL OR k.created_at > j.created_at))
    ORDER BY d.id LIMIT :most
    """,
    retried={"kind": "text"},
)
_HOLD_SITES = Statement(
    """
    SELECT s.id FROM sites s WHERE s.id IN (
        SELECT j.site_id FROM {wanted} JOIN dead_letters d ON d.id = wanted.id
        JOIN items i ON i.page_id = d.page_id AND i.state = 2 JOIN jobs j ON j.id = i.job_id
        WHERE j.site_id IS NOT NULL)
    ORDER BY s.id {lock}
    """,
    wanted={"id": "bigint"},
)


class MaintenanceTasks:
    def __init__(self, *, store: Store, clock: Clock, keep_days: int) -> None:
        self._store, self._clock, self._keep_days = store, clock, keep_days

    def by_name(self) -> Mapping[str, Callable[[], Awaitable[str]]]:
        """Those that are built; each returns a sentence about what it did."""
        return {"dead_letters": self._dead_letters, "cleanup": self._cleanup}

    async def _dead_letters(self) -> str:
        """Pages that were given up for a passing reason are tried again, once their source answers
        as it should; but no run of a site goes on anew beside another, or after a newer one."""
        letters, after = 0, 0
        while ids := await self._store.read(lambda c: _recovered(c, after)):  # noqa: B023
            now = self._clock.now()
            settled = await self._store.write(lambda c: _retry(c, ids, now=now))  # noqa: B023
            letters, after = letters + settled.pages, ids[-1]
        return f"{letters} pages that were given up are tried again."

    async def _cleanup(self) -> str:
        """What has expired, jobs that ended longer ago than results are kept, and what runs of
        sites found and nobody will compare with any more."""
        now, keep = self._clock.now(), self._keep_days * DAY
        await self._in_batches(lambda c: prune_some(c, now=now))
        await self._in_batches(lambda c: delete_old(c, before=now - keep, most=BATCH))
        old = await self._store.read(lambda c: old_jobs(c, keep=keep, now=now, most=MOST_JOBS))
        for job in old:
            with suppress(NotFound):  # somebody else has just forgotten it
                while await self._store.write(lambda c: purge_some(c, job)) == PURGE_BATCH:  # noqa: B023
                    pass
        await self._forget_sightings()
        # runs that the next cleanup forgets still hold what they saw, and asking them takes long
        records = await self._forget_records(keep) if len(old) < MOST_JOBS else 0
        return (
            f"{len(old)} jobs older than {self._keep_days} days were forgotten, and {records} "
            "records that their sites did not have for as long."
        )

    async def _forget_sightings(self) -> None:
        after: int | None = 0
        while after is not None:
            begin = after
            gone, after = await self._store.read(lambda c: runs_gone(c, begin))  # noqa: B023
            for run in gone:
                await self._in_batches(lambda c: forget_sightings(c, run))  # noqa: B023

    async def _forget_records(self, keep: int) -> int:
        forgotten = 0
        sites = await self._store.read(lambda c: sites_with_old_records(c, keep=keep))
        for site in sites:
            forgotten += await self._in_batches(lambda c: forget_records(c, site))  # noqa: B023
        return forgotten

    async def _in_batches(self, work: Callable[[Connection], int]) -> int:
        """One transaction after the other, until one finds less than a batch; all they found."""
        found = some = await self._store.write(work)
        while some >= BATCH:
            some = await self._store.write(work)
            found += some
        return found


def _retry(connection: Connection, ids: Sequence[int], *, now: int) -> Settled:
    """Those of them that still may be, now that nobody else begins a run of their sites."""
    _HOLD_SITES(connection, wanted=[(i,) for i in ids]).all()
    still = set(_recovered(connection, ids[0] - 1)) & set(ids)
    return retry_letters(connection, LetterSelection(sorted(still)), now=now)


def _recovered(connection: Connection, after: int) -> list[int]:
    kinds = [(kind.value,) for kind, rule in RULES.items() if rule.retried]
    return list(_RECOVERED(connection, retried=kinds, after=after, most_retries=MOST_RETRIES,
                           most=BATCH).scalars())  # fmt: skip


BATCH = 1_000


def prune_some(connection: Connection, *, now: int) -> int:
    """Returns how many rows were deleted; fewer than a batch: nothing is left to prune."""
    return (idempotency.delete_expired(connection, now=now, most=BATCH)
            + sessions.delete_expired(connection, now=now, most=BATCH))  # fmt: skip
