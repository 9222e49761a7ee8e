"""The part of a cleanup that reads all sources and all pages once, slice by slice: old attempts and
receipts, superseded versions of documents, pages and hosts that nobody has."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from curtsy.clock import DAY
from curtsy.errors import StoreAway
from curtsy.frontier import idle_hosts, retention
from curtsy.frontier.idle_hosts import IdleSource
from curtsy.frontier.retention import BATCH, Slice, Version
from curtsy.logs import logger
from curtsy.maintenance.deleted import Deleted
from curtsy.maintenance.work_share import WorkShare

T = TypeVar("T")

log = logger("maintenance")

MOST_VERSIONS = 50_000
"""Superseded versions that are checked together: each check reads the items of all jobs."""
MOST_HOSTS = 50_000
"""Hosts that one walk may delete, or a few more; the next walk continues."""


class PageWalk:
    def __init__(self, share: WorkShare, deleted: Deleted, *, before: int) -> None:
        self._share, self._deleted, self._before = share, deleted, before
        self._idle: list[IdleSource] = []
        self._unused: dict[str, int] = {}
        """Hosts of idle sources of which no page was met yet, with the source of each."""

    async def run(self) -> None:
        """Deletes what is older than `before`, and adds to the counts of `deleted`."""
        async for sources in self._slices(retention.next_sources):
            await self._look_at_sources(sources)
        versions: list[Version] = []
        async for pages in self._slices(retention.next_pages):
            versions += await self._look_at_pages(pages)
            if len(versions) >= MOST_VERSIONS:
                await self._delete_versions(versions)
                versions = []
        await self._delete_versions(versions)
        await self._delete_hosts()

    async def _slices(self, following: Callable[..., Slice | None]) -> AsyncIterator[Slice]:
        after = 0
        while (found := await self._share.read(partial(following, after=after))) is not None:
            yield found
            after = found.upto

    async def _look_at_sources(self, sources: Slice) -> None:
        day = self._before // DAY
        receipts = partial(retention.delete_receipts, sources=sources, before_day=day)
        self._deleted.receipts += await self._share.write_all(receipts, most=BATCH)
        if len(self._unused) < MOST_HOSTS:
            idle = partial(idle_hosts.idle_sources, sources=sources, before=self._before, day=day)
            found, hosts = await self._share.read(idle)
            self._idle += found
            self._unused |= hosts

    async def _look_at_pages(self, pages: Slice) -> list[Version]:
        """Returns the versions of the slice that may be deleted if no item has them."""
        if self._unused:
            for host in await self._share.read(partial(idle_hosts.hosts_of_pages, pages=pages)):
                self._unused.pop(host, None)
        orphans = partial(retention.delete_unreferenced, pages=pages)
        self._deleted.pages += await self._share.write_all(orphans, most=BATCH)
        attempts = partial(retention.delete_attempts, pages=pages, before=self._before)
        self._deleted.attempts += await self._share.write_all(attempts, most=BATCH)
        return await self._share.read(
            partial(retention.superseded, pages=pages, before=self._before)
        )

    async def _delete_versions(self, versions: Sequence[Version]) -> None:
        """Deletes those of these versions that no item of any job has."""
        unneeded: set[tuple[int, int]] = set(versions)
        after = 0
        while unneeded:
            ranges = await self._share.read(partial(retention.item_ranges, after=after))
            if not ranges:
                break
            for items in ranges:
                unneeded -= await self._share.read(partial(retention.versions_of, items=items))
            after = ranges[-1].jobs.upto
        for gone in _parts(sorted(unneeded), BATCH):
            some = partial(retention.delete_versions, versions=gone)
            self._deleted.versions += await self._share.write(some)

    async def _delete_hosts(self) -> None:
        """Deletes the hosts of idle sources of which the walk met no page."""
        hosts: dict[int, list[str]] = {}
        for host, source in self._unused.items():
            hosts.setdefault(source, []).append(host)
        delete = partial(idle_hosts.delete_hosts, before=self._before, day=self._before // DAY)
        for sources in _parts(self._idle, idle_hosts.BATCH):
            theirs = [host for source in sources for host in hosts.get(source.id, ())]
            some = partial(delete, sources=sources, hosts=theirs)
            try:
                self._deleted.hosts += (await self._share.write(some)).hosts
            except StoreAway as away:  # somebody reads the table for long, such as pg_dump
                log.info("unused_hosts_left", reason=str(away), meaning="the next cleanup has them")
                return


def _parts(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
