"""Slots: none stays empty while anyone waits, and no band starves."""

import asyncio

from curtsy.model.job_states import Band
from curtsy.worker.worker_slots import WorkerSlots


async def waiting(slots: WorkerSlots, band: Band) -> asyncio.Task[None]:
    task = asyncio.create_task(slots.acquire(band))
    await asyncio.sleep(0)
    return task


async def test_a_single_band_may_use_them_all() -> None:
    slots = WorkerSlots(10)
    for _ in range(10):
        await slots.acquire(Band.LOW)
    assert slots.free == 0


async def test_a_freed_slot_goes_to_the_best_band_below_its_share() -> None:
    slots = WorkerSlots(10)
    for _ in range(10):
        await slots.acquire(Band.LOW)
    medium, high = await waiting(slots, Band.MEDIUM), await waiting(slots, Band.HIGH)
    slots.release(Band.LOW)
    await asyncio.sleep(0)
    assert (high.done(), medium.done()) == (True, False)
    slots.release(Band.LOW)
    await asyncio.sleep(0)
    assert medium.done()


async def test_low_gets_its_share_while_high_never_ends() -> None:
    slots = WorkerSlots(10)
    for _ in range(10):
        await slots.acquire(Band.HIGH)
    low = await waiting(slots, Band.LOW)
    high = [await waiting(slots, Band.HIGH) for _ in range(5)]
    slots.release(Band.HIGH)
    await asyncio.sleep(0)
    assert low.done(), "high is above its half, low below its fifth"
    for task in high:
        task.cancel()
    await asyncio.gather(*high, return_exceptions=True)


async def test_one_that_gives_up_waiting_takes_nothing_with_it() -> None:
    slots = WorkerSlots(1)
    await slots.acquire(Band.HIGH)
    gone, stays = await waiting(slots, Band.HIGH), await waiting(slots, Band.HIGH)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    slots.release(Band.HIGH)
    await stays
    slots.release(Band.HIGH)
    assert slots.free == 1


async def test_one_cancelled_in_the_moment_it_was_served_passes_its_slot_on() -> None:
    slots = WorkerSlots(1)
    await slots.acquire(Band.HIGH)
    unlucky, next_one = await waiting(slots, Band.HIGH), await waiting(slots, Band.LOW)
    slots.release(Band.HIGH)
    unlucky.cancel()
    await asyncio.gather(unlucky, return_exceptions=True)
    await next_one
    slots.release(Band.LOW)
    assert slots.free == 1
