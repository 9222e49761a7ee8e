"""The task `cleanup`: deletes what is older than RESULT_DAYS and gives its space back.

What a job that stays needs is kept: its items, their versions of documents, its events. Every
transaction is small, and between two of them the work has the store to itself.
"""

import asyncio
import time
from functools import partial

from curtsy.access import sessions
from curtsy.clock import DAY, Clock
from curtsy.frontier import retention
from curtsy.frontier.cookie_jars import delete_old_jars
from curtsy.frontier.crawls.old_entries import delete_old_entries, next_subscriptions
from curtsy.jobs import idempotency
from curtsy.jobs.purge import BEFORE_ALL, batches_of, old_jobs, purge_batch
from curtsy.logs import logger
from curtsy.maintenance.deleted import Deleted
from curtsy.maintenance.page_walk import PageWalk
from curtsy.maintenance.work_share import WorkShare
from curtsy.reports.stored_reports import delete_reports
from curtsy.schedules.firings import delete_old
from curtsy.sites.retention import (
    delete_records,
    delete_sightings,
    deleted_runs,
    sites_with_old_records,
)
from curtsy.store import Connection, Store
from curtsy.store.space import read_space

log = logger("maintenance")

BATCH = 1_000
JOBS_AT_ONCE = 1_000
PAGES_GIVEN_BACK = 500
"""Pages of the file (2 MiB) that one step returns to the disk."""
CLOCK_WENT_AHEAD = (
    "Nothing was deleted: the clock has just gone ahead by hours or days, and may be wrong. The "
    "next cleanup deletes what is old by then; curtsy cleanup deletes at once."
)


class Cleanup:
    """Runs one cleanup at a time. `deleted` can be read while it runs."""

    def __init__(
        self, *, store: Store, clock: Clock, keep_days: int, trusts_clock: bool = False,
        share: WorkShare | None = None,
    ) -> None:  # fmt: skip
        """`trusts_clock`: deletes by age even if the time has just gone ahead by far."""
        self._store, self._clock, self._keep_days = store, clock, keep_days
        self._trusts_clock = trusts_clock
        self._share = share or WorkShare(store)
        self._one_at_a_time = asyncio.Lock()
        self.deleted = Deleted()

    @property
    def is_running(self) -> bool:
        return self._one_at_a_time.locked()

    async def run(self, keep_days: int | None = None) -> str:
        """Deletes what is older than that many days, or than RESULT_DAYS; returns a sentence. Waits
        for a cleanup that runs in this process already."""
        async with self._one_at_a_time:
            if self._clock.is_doubtful and not self._trusts_clock:
                return CLOCK_WENT_AHEAD
            self.deleted = Deleted()
            days = keep_days or self._keep_days
            await self._run(now=self._clock.now(), keep=days * DAY)
            log.info("cleaned_up", days=days, **self.deleted.as_dict())
            return self.deleted.sentence(days)

    async def _run(self, *, now: int, keep: int) -> None:
        before = now - keep
        await self._share.write_all(partial(prune_some, now=now), most=BATCH)
        firings = partial(delete_old, before=before, most=BATCH)
        self.deleted.firings = await self._share.write_all(firings, most=BATCH)
        await self._share.write_all(partial(delete_reports, before=before, most=BATCH), most=BATCH)
        await self._share.write_all(partial(delete_old_jars, before=before, most=BATCH), most=BATCH)
        await self._delete_jobs(now, keep)
        await self._delete_sightings()
        await self._delete_records(keep)
        await self._delete_letters(before)
        await self._delete_seen_entries(now)
        await PageWalk(self._share, self.deleted, before=before).run()
        await self._give_space_back()

    async def _delete_jobs(self, now: int, keep: int) -> None:
        """Reads on behind the jobs that stay, such as the last runs of sites."""
        oldest = partial(old_jobs, keep=keep, now=now, most=JOBS_AT_ONCE)
        last = BEFORE_ALL
        while old := await self._share.read(partial(oldest, after=last)):
            last = old[-1]
            for batch in batches_of(old):
                is_done = False
                while not is_done:
                    purged = await self._share.write(partial(purge_batch, jobs=batch))
                    self.deleted.pages += purged.pages
                    is_done = purged.is_done
                self.deleted.jobs += len(batch)

    async def _delete_sightings(self) -> None:
        after: int | None = 0
        while after is not None:
            gone, after = await self._share.read(partial(deleted_runs, after=after))
            for run in gone:
                await self._share.write_all(partial(delete_sightings, job_id=run), most=BATCH)

    async def _delete_records(self, keep: int) -> None:
        for site in await self._share.read(partial(sites_with_old_records, keep=keep)):
            old = partial(delete_records, old=site)
            self.deleted.records += await self._share.write_all(old, most=BATCH)

    async def _delete_letters(self, before: int) -> None:
        for state in ("retried", "resolved"):
            settled = partial(retention.delete_settled_letters, state=state, before=before)
            after: int | None = 0
            while after is not None:
                number, after = await self._share.write(partial(settled, after=after))
                self.deleted.letters += number

    async def _delete_seen_entries(self, now: int) -> None:
        """Age does not follow RESULT_DAYS here: what was seen is remembered for longer than it is
        kept."""
        last = 0
        while some := await self._share.read(partial(next_subscriptions, after=last, now=now)):
            last = some[-1].id
            for followed in some:
                after: str | None = ""
                while after is not None:
                    step = partial(delete_old_entries, followed=followed, after=after)
                    looked = await self._share.write(step)
                    self.deleted.entries += looked.deleted
                    after = looked.last

    async def _give_space_back(self) -> None:
        """SQLite: returns free pages of the file to the disk, and empties its log."""
        if not self._store.is_sqlite:
            return
        size = (await read_space(self._store)).database_bytes or 0
        is_more = True
        while is_more:
            began = time.monotonic()
            is_more = await self._store.give_back(PAGES_GIVEN_BACK) > 0
            await self._share.rest(time.monotonic() - began)
        await self._store.empty_log()
        left = (await read_space(self._store)).database_bytes or 0
        self.deleted.bytes_given_back = max(0, size - left)


def prune_some(connection: Connection, *, now: int) -> int:
    """Deletes expired keys and sessions; returns how many. Less than `BATCH`: none are left."""
    return (idempotency.delete_expired(connection, now=now, most=BATCH)
            + sessions.delete_expired(connection, now=now, most=BATCH))  # fmt: skip
