"""Our worker on waiting pages, until so many more of them are done; what it spent, and on SQLite
the statements it ran."""

import asyncio
from typing import Any

import uvloop

from bench.children import contestant
from bench.contestants.curtsy_pages import settings
from bench.setting_up import opened
from bench.spent import Spent
from bench.statement_trace import trace_statements
from curtsy.store import Statement, Store
from curtsy.worker import Worker

LOOK_EVERY_SECONDS = 0.1
_DONE = Statement("SELECT sum(done) FROM jobs")


async def _done(store: Store) -> int:
    return await store.read(lambda c: int(_DONE(c).scalar_one()))


async def run(database: str, pages: int, **options: Any) -> dict[str, Any]:
    begun = trace_statements()
    async with opened(database) as (store, clock):
        worker = Worker(store=store, clock=clock, settings=settings(**options))
        before, statements, spent = await _done(store), len(begun), Spent()
        running = asyncio.create_task(worker.run())
        while (done := await _done(store) - before) < pages:  # noqa: ASYNC110 - read from the store
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        measured = spent.until_now()
        statements = len(begun) - statements
        await worker.stop()
        await running
    return {"pages": done, "statements": statements, **measured}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
