"""The maintenance tasks, by name. Any process may run each of them, any number of times."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from curtsy.access import sessions
from curtsy.clock import DAY, Clock
from curtsy.errors import NotFound
from curtsy.jobs import LetterSelection, Settled, idempotency, purge_some, retry_letters
from curtsy.jobs.purge import BATCH as PURGE_BATCH
from curtsy.jobs.purge import old_jobs
from curtsy.model.counts import are, counted
from curtsy.model.failure_kinds import RULES
from curtsy.schedules.firings import delete_old
from curtsy.sites.retention import (
    delete_records,
    delete_sightings,
    deleted_runs,
    sites_with_old_records,
)
from curtsy.store import Connection, Statement, Store

NOT_BUILT: Mapping[str, str] = {"health": "monitoring", "reports": "monitoring"}
"""Tasks that the API documents name, each with the part of curtsy that will add it."""
NAMES = ("health", "reports", "dead_letters", "cleanup")
BATCH = 1_000
MOST_RETRIES = 3
"""Automatic retries of one page."""
MOST_JOBS = 1_000
"""Jobs that one cleanup deletes; the next cleanup continues."""
CLOCK_WENT_AHEAD = (
    "Nothing was deleted: the clock has just gone ahead by hours or days, and may be wrong. The "
    "next cleanup deletes what is old by then; curtsy cleanup deletes at once."
)

_RECOVERED = Statement(
    """
    SELECT d.id FROM dead_letters d JOIN sources s ON s.id = d.source_id
    WHERE d.state = 'open' AND NOT d.final AND d.kind IN (SELECT kind FROM {retried})
      AND d.id > :after
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
_LOCK_SITES = Statement(
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
    def __init__(
        self, *, store: Store, clock: Clock, keep_days: int, trusts_clock: bool = False
    ) -> None:
        """`trusts_clock`: deletes by age even if the time has just gone ahead by far."""
        self._store, self._clock, self._keep_days = store, clock, keep_days
        self._trusts_clock = trusts_clock

    def by_name(self) -> Mapping[str, Callable[[], Awaitable[str]]]:
        """Returns the tasks that are built; each returns a sentence about what it did."""
        return {"dead_letters": self._dead_letters, "cleanup": self._cleanup}

    async def _dead_letters(self) -> str:
        """Retries pages that failed for a temporary reason, once their source works again. Never
        reopens a run of a site while another run is open, or after a newer one."""
        settled, after = Settled(), 0
        while ids := await self._store.read(lambda c: _recovered(c, after)):  # noqa: B023
            now = self._clock.now()
            settled += await self._store.write(lambda c: _retry(c, ids, now=now))  # noqa: B023
            after = ids[-1]
        retried = f"{counted(settled.pages, 'failed page')} {are(settled.pages)}"
        if not settled.resolved:
            return f"{retried} retried."
        resolved = f"{counted(settled.resolved, 'dead letter')} {are(settled.resolved)}"
        pages = "the page" if settled.resolved == 1 else "their pages"
        return f"{retried} retried; {resolved} resolved, since no job wants {pages} any more."

    async def _cleanup(self) -> str:
        """Deletes expired keys and sessions, old firings and jobs, and records and sightings of
        sites that no run will be compared with."""
        if self._clock.is_doubtful and not self._trusts_clock:
            return CLOCK_WENT_AHEAD
        now, keep = self._clock.now(), self._keep_days * DAY
        await self._in_batches(lambda c: prune_some(c, now=now))
        await self._in_batches(lambda c: delete_old(c, before=now - keep, most=BATCH))
        old = await self._store.read(lambda c: old_jobs(c, keep=keep, now=now, most=MOST_JOBS))
        for job in old:
            with suppress(NotFound):  # another process has just deleted it
                while await self._store.write(lambda c: purge_some(c, job)) == PURGE_BATCH:  # noqa: B023
                    pass
        await self._delete_sightings()
        # Sightings of runs that only the next cleanup deletes make this query slow.
        records = await self._delete_records(keep) if len(old) < MOST_JOBS else 0
        return (
            f"Deleted {counted(len(old), 'job')} older than {counted(self._keep_days, 'day')}, and "
            f"{counted(records, 'record')} that no site has had for as long."
        )

    async def _delete_sightings(self) -> None:
        after: int | None = 0
        while after is not None:
            begin = after
            gone, after = await self._store.read(lambda c: deleted_runs(c, begin))  # noqa: B023
            for run in gone:
                await self._in_batches(lambda c: delete_sightings(c, run))  # noqa: B023

    async def _delete_records(self, keep: int) -> int:
        deleted = 0
        sites = await self._store.read(lambda c: sites_with_old_records(c, keep=keep))
        for site in sites:
            deleted += await self._in_batches(lambda c: delete_records(c, site))  # noqa: B023
        return deleted

    async def _in_batches(self, work: Callable[[Connection], int]) -> int:
        """Repeats a transaction until it deletes less than a batch; returns how many rows were
        deleted."""
        total = number = await self._store.write(work)
        while number >= BATCH:
            number = await self._store.write(work)
            total += number
        return total


def _retry(connection: Connection, ids: Sequence[int], *, now: int) -> Settled:
    """Locks the sites of these dead letters, so that no run of them starts, and retries those that
    may still be retried."""
    _LOCK_SITES(connection, wanted=[(i,) for i in ids]).all()
    still = set(_recovered(connection, ids[0] - 1)) & set(ids)
    return retry_letters(connection, LetterSelection(sorted(still)), now=now)


def _recovered(connection: Connection, after: int) -> list[int]:
    kinds = [(kind.value,) for kind, rule in RULES.items() if rule.retried]
    return list(_RECOVERED(connection, retried=kinds, after=after, most_retries=MOST_RETRIES,
                           most=BATCH).scalars())  # fmt: skip


def prune_some(connection: Connection, *, now: int) -> int:
    """Deletes expired keys and sessions; returns how many. Less than `BATCH`: none are left."""
    return (idempotency.delete_expired(connection, now=now, most=BATCH)
            + sessions.delete_expired(connection, now=now, most=BATCH))  # fmt: skip
