"""A clock that was ahead, and is right again: slots that had not come are open, and none fires
twice."""

import asyncio
from typing import Any

import pytest

from curtsy.clock import DAY, HOUR, MINUTE, SECOND, Clock, boot_time, wall_time
from curtsy.frontier.clock_sync import LARGE_JUMP, synchronise
from curtsy.maintenance.cleanup import CLOCK_WENT_AHEAD
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.schedules.reopen import reopen
from curtsy.schedules.verdict import CatchUp, Overlap
from curtsy.store import Store
from curtsy.timetable import Cron, Every, Once, Rule
from support.engine import Engine, until
from support.schedules import Hand, made, ticker

AHEAD = 2 * HOUR
TEN_MINUTES = Cron("*/10 * * * *")


async def firings(ask: Engine) -> dict[int, str]:
    rows = await ask.query("SELECT fire_at, outcome FROM firings")
    return {row.fire_at: row.outcome for row in rows}


async def next_slot(ask: Engine) -> Any:
    [row] = await ask.query("SELECT * FROM schedules")
    return row


async def set_back(store: Store, hand: Hand, by: int = AHEAD) -> int:
    """The clock is right again, and a scheduler starts."""
    hand.forward(-by)
    changed, more = await store.write(lambda c: reopen(c, now=hand.at))
    assert more is None
    return changed


@pytest.mark.parametrize("catch_up", CatchUp)
async def test_slots_that_had_not_come_fire_when_they_come_and_none_fires_twice(
    store: Store, hand: Hand, ask: Engine, catch_up: CatchUp
) -> None:
    hand.at = hand.at // HOUR * HOUR + 5 * MINUTE
    await made(store, hand.clock, TEN_MINUTES, catch_up=catch_up, overlap=Overlap.ALLOW)
    hand.forward(AHEAD)
    await ticker(store, hand.clock).tick()
    early = {at for at, outcome in (await firings(ask)).items() if outcome == "fired"}
    await set_back(store, hand)
    assert set(await firings(ask)) == early, "no slot is missed that has not come"
    slots = range(hand.at + 5 * MINUTE, hand.at + AHEAD + HOUR, 10 * MINUTE)
    for hand.at in slots:
        await ticker(store, hand.clock).tick()
    assert await firings(ask) == dict.fromkeys(slots, "fired")
    jobs = await ask.query("SELECT count(*) AS number FROM jobs")
    assert jobs[0].number == len(slots), "each slot has one job, also that which fired early"


async def test_what_passed_meanwhile_stays_missed(store: Store, hand: Hand, ask: Engine) -> None:
    hand.at = hand.at // HOUR * HOUR + 5 * MINUTE
    await made(store, hand.clock, TEN_MINUTES, catch_up=CatchUp.NONE)
    hand.forward(AHEAD)
    await ticker(store, hand.clock).tick()
    await set_back(store, hand, HOUR)
    assert set((await firings(ask)).values()) == {"missed"}
    assert max(await firings(ask)) < hand.at
    assert (await next_slot(ask)).next_fire_at == hand.at + 5 * MINUTE


async def test_a_slot_that_is_skipped_or_waits_in_the_future_is_open_again(
    store: Store, hand: Hand, ask: Engine
) -> None:
    hand.at = hand.at // HOUR * HOUR
    for name, overlap in (("skips", Overlap.SKIP), ("waits", Overlap.QUEUE_ONE)):
        await made(store, hand.clock, TEN_MINUTES, name=name, overlap=overlap)
    hand.forward(10 * MINUTE)
    await ticker(store, hand.clock).tick()
    first = hand.at
    hand.forward(AHEAD)
    await ticker(store, hand.clock).tick()
    assert await set_back(store, hand) == 2
    assert set(await firings(ask)) == {first}
    for row in await ask.query("SELECT * FROM schedules"):
        assert (row.next_fire_at, row.look_at) == (first + 10 * MINUTE,) * 2
        assert row.waiting_fire_at is None


@pytest.mark.parametrize("rule", [TEN_MINUTES, Every(10), Every(10, jitter=False, after_end=True)])
async def test_one_that_is_created_by_a_clock_ahead_fires_by_the_right_one(
    store: Store, hand: Hand, ask: Engine, rule: Rule
) -> None:
    hand.forward(AHEAD)
    await made(store, hand.clock, rule)
    assert await set_back(store, hand) == 1
    assert (await next_slot(ask)).next_fire_at <= hand.at + 11 * MINUTE
    hand.forward(11 * MINUTE)
    assert len(await ticker(store, hand.clock).tick()) == 1
    assert (await store.write(lambda c: reopen(c, now=hand.at)))[0] == 0, "and that is all"


async def test_an_interval_after_the_end_does_not_wait_for_the_clock_that_was_ahead(
    store: Store, hand: Hand, ask: Engine
) -> None:
    rule = Every(10, jitter=False, after_end=True)
    await made(store, hand.clock, rule, payload={"duty": "cleanup"})
    hand.forward(AHEAD)
    for _ in range(2):
        await ticker(store, hand.clock).tick()
        hand.forward(5 * SECOND)
    await set_back(store, hand)
    await ticker(store, hand.clock).tick()
    hand.forward(11 * MINUTE)
    assert len(await ticker(store, hand.clock).tick()) == 1


async def test_a_slot_for_once_that_a_clock_ahead_missed_still_fires(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(store, hand.clock, Once(hand.at + HOUR), catch_up=CatchUp.NONE)
    hand.forward(AHEAD)
    await ticker(store, hand.clock).tick()
    assert (await next_slot(ask)).look_at is None
    await set_back(store, hand)
    hand.forward(HOUR)
    [fired] = await ticker(store, hand.clock).tick()
    assert fired.outcome == "fired"


async def test_without_a_wrong_clock_nothing_is_opened_again(
    store: Store, hand: Hand, ask: Engine
) -> None:
    for overlap in Overlap:
        await made(store, hand.clock, TEN_MINUTES, name=overlap.value, overlap=overlap)
    await made(store, hand.clock, Every(10, after_end=True), name="after")
    for _ in range(9):
        hand.forward(7 * MINUTE)
        await ticker(store, hand.clock).tick()
        before = await ask.query("SELECT * FROM schedules"), await firings(ask)
        assert await store.write(lambda c: reopen(c, now=hand.at)) == (0, None)
        assert (await ask.query("SELECT * FROM schedules"), await firings(ask)) == before


class Skewed:
    """The database's clock seems to jump to a process whose own clock moves against it."""

    def __init__(self) -> None:
        self.by = 0

    def __call__(self) -> int:
        return boot_time() + self.by


async def test_a_scheduler_that_sees_the_clock_set_back_opens_the_slots_at_once(
    store: Store, ask: Engine
) -> None:
    skewed = Skewed()
    clock = Clock(monotonic=skewed)
    await synchronise(store, clock)
    await made(store, clock, TEN_MINUTES, catch_up=CatchUp.NONE)
    scheduler = ticker(store, clock)
    await scheduler.step()
    between = (5 * MINUTE - clock.now()) % (10 * MINUTE)
    skewed.by = AHEAD + between  # too late for the slot before
    assert await scheduler.tick() == []
    missed = await firings(ask)
    assert set(missed.values()) == {"missed"}
    assert len(missed) >= 11
    await scheduler._reopen()
    assert await firings(ask) == missed, "not by a time that is not the database's"
    await synchronise(store, clock)
    await scheduler.step()
    assert all(at <= clock.now() for at in await firings(ask))
    assert (await next_slot(ask)).next_fire_at <= clock.now() + 10 * MINUTE


async def test_of_two_schedulers_one_on_a_machine_two_hours_ahead_no_slot_is_missed_or_early(
    store: Store, ask: Engine, database_url: str
) -> None:
    """Slots are judged by the database's clock. On SQLite that is the machine's."""
    if store.is_sqlite:
        pytest.skip("a file has no clock of its own")
    async with Store(database_url) as other:
        clocks = []
        for of, ahead in ((store, 0), (other, AHEAD)):
            clock = Clock(wall=lambda ahead=ahead: wall_time() + ahead)  # type: ignore[misc]
            await synchronise(of, clock)
            clocks.append(clock)
        schedulers = [ticker(store, clocks[0]), ticker(other, clocks[1])]
        now = clocks[0].now()
        for n in range(5):
            await made(store, clocks[0], Once(now + SECOND + n * 200), name=f"{n}")
        await made(other, clocks[1], Cron("0 0 1 1 *"), name="new year", catch_up=CatchUp.NONE)

        async def all_fired() -> bool:
            await asyncio.gather(*(scheduler.step() for scheduler in schedulers))
            return len(await firings(ask)) == 5

        await until(all_fired, 20, lambda: "the slots do not fire")
    rows = await ask.query("SELECT * FROM firings")
    assert {row.outcome for row in rows} == {"fired"}
    assert all(row.fired_at >= row.fire_at for row in rows)
    jobs = await ask.query("SELECT count(*) AS number FROM jobs")
    assert jobs[0].number == 5


async def test_after_the_time_went_ahead_by_far_a_scheduler_deletes_nothing_for_its_age(
    store: Store, ask: Engine
) -> None:
    skewed = Skewed()
    clock = Clock(monotonic=skewed)
    await synchronise(store, clock)
    assert not clock.is_doubtful
    skewed.by = -LARGE_JUMP - MINUTE
    await synchronise(store, clock)
    assert clock.is_doubtful
    cleanup = MaintenanceTasks(store=store, clock=clock, keep_days=1).by_name()["cleanup"]
    assert await cleanup() == CLOCK_WENT_AHEAD
    skewed.by += HOUR
    assert not clock.is_doubtful
    assert "Deleted" in await cleanup()


async def test_nor_when_it_starts_long_after_the_newest_event(store: Store, ask: Engine) -> None:
    await ask.submit("https://a.example/")
    for ago, doubtful in ((HOUR, False), (40 * DAY, True)):
        await ask.execute("UPDATE events SET at = :at", at=wall_time() - ago)
        clock = Clock()
        await synchronise(store, clock)
        assert clock.is_doubtful == doubtful
