"""What has expired goes, and nothing else does."""

import asyncio

import pytest

from curtsy.clock import Clock
from curtsy.maintenance import cleanup
from curtsy.maintenance.cleanup import prune_some
from curtsy.politeness.policy import Policy
from curtsy.processes import scheduler as scheduling
from curtsy.processes.scheduler import SchedulerLoops
from curtsy.store import Store
from support.engine import engine, until
from support.schedules import ticker, unwatched

SUBMISSION = """
    INSERT INTO submissions (key, job, request_hash, expires_at) VALUES (:key, 'j', 'h', :at)
"""
SESSION = """
    INSERT INTO sessions (hash, key_id, csrf, created_at, expires_at) VALUES (:key, 1, 'c', 1, :at)
"""


async def filled(store: Store, clock: Clock, number: int) -> None:
    whole = engine(store, clock)
    for n in range(number):
        at = clock.now() + (100_000 if n % 2 else -n)
        await whole.execute(SUBMISSION, key=f"k{n}", at=at)
        await whole.execute(SESSION, key=f"k{n}", at=at)


async def left(store: Store, clock: Clock) -> list[int]:
    ask = engine(store, clock).query
    return [len(await ask(f"SELECT 1 FROM {table}")) for table in ("submissions", "sessions")]


async def test_only_what_has_expired_goes(store: Store, clock: Clock) -> None:
    await filled(store, clock, 6)
    now = clock.now()
    assert await store.write(lambda c: prune_some(c, now=now)) == 6
    assert await left(store, clock) == [3, 3]
    assert await store.write(lambda c: prune_some(c, now=now)) == 0


async def test_a_scheduler_goes_on_until_nothing_is_left(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (cleanup, scheduling):
        monkeypatch.setattr(module, "BATCH", 2)
    await filled(store, clock, 12)
    scheduler = SchedulerLoops(
        store=store,
        clock=clock,
        ticker=ticker(store, clock),
        policy=Policy(),
        run_timeout=1_000,
        disk=unwatched(store, clock),
    )
    running = asyncio.create_task(scheduler.run())

    async def pruned() -> bool:
        return await left(store, clock) == [6, 6]

    await until(pruned, 10, lambda: "it prunes nothing")
    await scheduler.stop()
    await running
