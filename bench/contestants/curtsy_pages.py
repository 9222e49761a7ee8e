"""Our worker on pages that were submitted before; ends when the job is finished in the store."""

import asyncio
from typing import Any

import uvloop

from bench.children import contestant
from bench.setting_up import LOOPBACK, opened, submit
from bench.spent import Spent
from curtsy.clock import Clock
from curtsy.politeness.policy import Policy
from curtsy.store import Statement, Store
from curtsy.worker import Worker, WorkerSettings

LOOK_EVERY_SECONDS = 0.02
_JOB = Statement("SELECT state, done FROM jobs WHERE public_id = :job")


def settings(
    concurrency: int, slots: int, overrides: dict[str, Any] | None = None
) -> WorkerSettings:
    policy = Policy(min_delay=0, concurrency=concurrency, robots=False)
    policy = policy.with_overrides(overrides or {})
    return WorkerSettings(policy=policy, slots=slots, allow=LOOPBACK)


async def finished(store: Store, job: str) -> int:
    """Polls the store until the job has ended; returns the number of done pages."""
    while True:
        row = await store.read(lambda c: _JOB(c, job=job).one())
        if row.state not in ("queued", "running"):
            return int(row.done)
        await asyncio.sleep(LOOK_EVERY_SECONDS)


async def work_off(
    store: Store, clock: Clock, job: str, worker_settings: WorkerSettings
) -> dict[str, Any]:
    worker = Worker(store=store, clock=clock, settings=worker_settings)
    spent = Spent()
    running = asyncio.create_task(worker.run())
    done = await finished(store, job)
    measured = spent.until_now()
    await worker.stop()
    await running
    return {"pages": done, **measured}


async def run(database: str, urls: list[str], **options: Any) -> dict[str, Any]:
    async with opened(database) as (store, clock):
        (job,) = await submit(store, clock, urls)
        return await work_off(store, clock, job, settings(**options))


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
