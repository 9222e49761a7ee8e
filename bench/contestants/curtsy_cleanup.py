"""Our worker on pages that never run out, in windows with and without a cleanup beside it, in one
process as in `curtsy up`; then the rest of the cleanup, and what became of the file."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop

from bench.children import contestant
from bench.contestants.curtsy_load import settle
from bench.contestants.curtsy_pages import settings
from bench.setting_up import opened, submit
from curtsy.clock import DAY, Clock
from curtsy.maintenance.cleanup import Cleanup
from curtsy.maintenance.work_share import WorkShare
from curtsy.store import Connection, Statement, Store
from curtsy.store.space import read_space
from curtsy.worker import Worker

ITEMS = 1_000
"""Of a finished job."""
AGE = 60 * DAY
AHEAD = 30_000
"""Pages that are submitted beyond those that are done, so that the worker never waits."""

_NUMBERS = "WITH RECURSIVE n(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM n WHERE n < {last})"


def _fill(kind: str, columns: str, values: str) -> Statement:
    numbers = _NUMBERS.format(first="CAST(:first AS bigint)", last="CAST(:last AS bigint)")
    select = f"SELECT {values} FROM n"
    return Statement(f"INSERT INTO {kind} ({columns}) {numbers} {select}")


_JOBS = _fill("jobs", "id, public_id, door, scraper, state, total, done, last_event, created_at, "
              "finished_at, updated_at", f"n, 'old_' || n, 'fetch', 'raw', 'succeeded', {ITEMS}, "
              f"{ITEMS}, 2, :at, :at, :at")  # fmt: skip
_EVENTS = _fill("events", "job_id, n, at, name", f"1 + n / {ITEMS}, 1 + n % {ITEMS}, :at, 'page'")
_PAGES = _fill("pages", "id, fingerprint, url, host, scraper, reference_count, turn, outcome, "
               "document_version, document_hash, created_at", "n, 'f' || (n * 7919 % 1000003) || "
               "'_' || n, 'http://old.example/' || n, 'old.example', 'raw', 1, 1, 'fetched', 1, "
               "'h', :at")  # fmt: skip
_ITEMS = _fill("items", "job_id, position, page_id, state, priority, document_version, fetched_at, "
               "ended_at", f"1 + n / {ITEMS}, n % {ITEMS}, n, 1, 5, 1, :at, :at")  # fmt: skip
_CONTENT = {"sqlite": "randomblob(1500)",
            "postgresql": "decode(repeat(md5(CAST(n AS text)), 94), 'hex')"}  # fmt: skip
_DOCUMENTS = {
    engine: _fill("documents", "page_id, version, content, hash, content_type, status, url, "
                  "bytes, fetched_at", f"n, 1, {content}, 'h', 'text/html', 200, "
                  "'http://old.example/' || n, 1500, :at")
    for engine, content in _CONTENT.items()
}  # fmt: skip
_ATTEMPTS = _fill("attempts", "page_id, turn, source_id, worker, attempt, outcome, started_at, "
                  "ended_at", "n, 1, 1, 'w', 0, 'fetched', :at, :at")  # fmt: skip
_AFTER = Statement("SELECT setval('jobs_id_seq', :jobs), setval('pages_id_seq', :pages)")


async def fill(store: Store, clock: Clock, visits: int) -> None:
    """Inserts finished visits of two months ago, with their pages, documents and attempts."""
    at = clock.now() - AGE
    jobs = visits // ITEMS

    def some(connection: Connection, first: int) -> None:
        documents = _DOCUMENTS[connection.engine]
        for statement in (_PAGES, _ITEMS, documents, _ATTEMPTS, _EVENTS):
            statement(connection, first=first, last=first + 10 * ITEMS - 1, at=at)

    await store.write(lambda c: _JOBS(c, first=1, last=jobs + 1, at=at) and None)
    for first in range(1, visits, 10 * ITEMS):
        await store.write(lambda c: some(c, first), large=True)  # noqa: B023
    if not store.is_sqlite:
        await store.read(lambda c: _AFTER(c, jobs=jobs + 10, pages=visits + 10 * ITEMS).all())
    await store.read(settle)


class Gate:
    """Holds the cleanup up between two of its steps while it is closed."""

    def __init__(self) -> None:
        self._open = asyncio.Event()

    def set(self, *, is_open: bool) -> None:
        if is_open:
            self._open.set()
        else:
            self._open.clear()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._open.wait()


class Supply:
    """Submits pages of the practice site before they run out."""

    def __init__(self, store: Store, clock: Clock, hosts: list[str]) -> None:
        self._store, self._clock, self._hosts = store, clock, hosts
        self._submitted = 0

    async def keep(self, worker: Worker) -> None:
        while True:
            if self._submitted - worker.recorded < AHEAD:
                numbers = range(self._submitted, self._submitted + 5_000)
                urls = [f"{self._hosts[n % len(self._hosts)]}/page/{n // len(self._hosts)}"
                        for n in numbers]  # fmt: skip
                await submit(self._store, self._clock, urls, "raw")
                self._submitted += 5_000
            await asyncio.sleep(0.2)


@asynccontextmanager
async def working(store: Store, clock: Clock, hosts: list[str], **options: Any
                  ) -> AsyncIterator[Worker]:  # fmt: skip
    worker = Worker(store=store, clock=clock, settings=settings(**options))
    supply = Supply(store, clock, hosts)
    tasks = [asyncio.create_task(worker.run()), asyncio.create_task(supply.keep(worker))]
    while worker.recorded < 2_000:  # noqa: ASYNC110 - warm
        await asyncio.sleep(0.1)
    try:
        yield worker
    finally:
        tasks[1].cancel()
        await worker.stop()
        await tasks[0]


async def run(
    database: str, hosts: list[str], visits: int, pairs: int, window_seconds: float, **options: Any
) -> dict[str, Any]:
    async with opened(database) as (store, clock):
        await fill(store, clock, visits)
        await store.empty_log()
        before = (await read_space(store)).database_bytes or 0
        gate, rates = Gate(), {True: [], False: []}  # type: ignore[var-annotated]
        cleanup = Cleanup(store=store, clock=clock, keep_days=30, trusts_clock=True,
                          share=WorkShare(store, sleep=gate.sleep))  # fmt: skip
        async with working(store, clock, hosts, **options) as worker:
            cleaning = asyncio.create_task(cleanup.run())
            for pair in range(pairs):
                for is_open in ((True, False), (False, True))[pair % 2]:
                    gate.set(is_open=is_open)
                    began, recorded = time.monotonic(), worker.recorded
                    await asyncio.sleep(window_seconds)
                    took = time.monotonic() - began
                    rates[is_open].append((worker.recorded - recorded) / took)
            deleted_beside = cleanup.deleted.as_dict()
        gate.set(is_open=True)
        began = time.monotonic()
        told = await cleaning
        rest = time.monotonic() - began
        await store.empty_log()
        after = (await read_space(store)).database_bytes or 0
    return {"with": rates[True], "without": rates[False], "deleted_beside": deleted_beside,
            "rest_seconds": rest, "told": told, "before": before, "after": after}  # fmt: skip


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
