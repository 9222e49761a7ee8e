"""Slots that come at odd moments: their job is gone, tagged or beside one by hand, their rule
cannot be read, or the clock jumped."""

import asyncio
from typing import Any

import orjson
import pytest

from curtsy.clock import DAY, HOUR, MINUTE, SECOND
from curtsy.errors import BadRequest
from curtsy.frontier.clock_sync import _shift
from curtsy.jobs import JobRequest, PageRequest, cancel, purge_some
from curtsy.schedules.first_job import ScheduledJob, create_with_job
from curtsy.schedules.lookup import locked
from curtsy.schedules.overlap import replace_manually
from curtsy.schedules.schedule import ScheduleSpec, run_now
from curtsy.schedules.skip import refuse
from curtsy.schedules.verdict import CatchUp, Overlap
from curtsy.store import Connection, Store
from curtsy.store.greenlet_bridge import wait_for
from curtsy.timetable import Cron, Every, Once, Rule, to_json
from support.engine import Engine
from support.schedules import LIMITS, Hand, firer, made, ticker

MINUTELY = Cron("* * * * *")


async def with_job(store: Store, hand: Hand, rule: Rule, **crawl: Any) -> ScheduledJob:
    """A schedule whose first job is there already."""
    said = {"crawl": {"spider": "raw", "start_urls": ["https://a.example/"], **crawl}}
    plan = ScheduleSpec(name="", rule=rule, payload=said)
    request = JobRequest("crawl", [PageRequest("https://a.example/")],
                         tags=tuple(crawl.get("tags", ())))  # fmt: skip
    return await store.write(lambda c: create_with_job(c, plan, request, LIMITS, now=hand.at))


async def test_a_job_that_waited_for_its_slot_keeps_its_tags(
    store: Store, hand: Hand, ask: Engine
) -> None:
    first = await with_job(store, hand, MINUTELY, tags=["news"])
    hand.forward(MINUTE)
    [fired] = await ticker(store, hand.clock).tick()
    assert (fired.outcome, fired.job, fired.message) == ("fired", first.job, None)
    assert [row.tag for row in await ask.query("SELECT tag FROM job_tags")] == ["news"]


async def test_a_job_that_was_cancelled_and_purged_does_not_come_back(
    store: Store, hand: Hand, ask: Engine
) -> None:
    first = await with_job(store, hand, MINUTELY)
    await store.write(lambda c: cancel(c, first.job, now=hand.at))
    await store.write(lambda c: purge_some(c, first.job))
    hand.forward(MINUTE)
    [skipped] = await ticker(store, hand.clock).tick()
    assert skipped.outcome == "skipped"
    assert await ask.query("SELECT * FROM jobs") == []


async def test_a_run_is_not_replaced_while_its_end_is_waited_for(
    store: Store, hand: Hand, ask: Engine
) -> None:
    """An interval after the end has no slot as long as the run goes on."""
    rule = Every(10, jitter=False, after_end=True)
    await made(store, hand.clock, rule, overlap=Overlap.CANCEL_RUNNING)
    await ticker(store, hand.clock).tick()
    for _ in range(3):
        hand.forward(5 * SECOND)
        await ticker(store, hand.clock).tick()
    assert [row.state for row in await ask.query("SELECT state FROM jobs")] == ["queued"]


async def test_a_run_is_not_cancelled_for_a_slot_that_is_missed(
    store: Store, hand: Hand, ask: Engine
) -> None:
    terms = {"overlap": Overlap.CANCEL_RUNNING, "catch_up": CatchUp.NONE}
    await made(store, hand.clock, Cron("0 * * * *"), **terms)
    hand.forward(HOUR)
    at = (hand.at // HOUR) * HOUR
    hand.at = at
    await ticker(store, hand.clock).tick()
    hand.forward(HOUR + 30 * MINUTE)
    await ticker(store, hand.clock).tick()
    rows = await ask.query("SELECT outcome FROM firings ORDER BY fire_at")
    assert [row.outcome for row in rows] == ["fired", "missed"]
    assert [row.state for row in await ask.query("SELECT state FROM jobs")] == ["queued"]


@pytest.mark.parametrize("rule", ["no rule", to_json(Cron("0 7 * * *", "Europe/Nowhere"))])
async def test_one_whose_rule_cannot_be_read_keeps_no_other_from_firing(
    store: Store, hand: Hand, ask: Engine, rule: str
) -> None:
    broken = await made(store, hand.clock, MINUTELY, name="broken")
    await made(store, hand.clock, MINUTELY, name="good")
    await ask.execute("UPDATE schedules SET rule = :rule WHERE id = :id", rule=rule, id=broken.id)
    for _ in range(2):
        hand.forward(MINUTE)
        await ticker(store, hand.clock).tick()
    rows = await ask.query("""
        SELECT s.name, f.outcome FROM firings f JOIN schedules s ON s.id = f.schedule_id
        ORDER BY s.name, f.fire_at""")  # fmt: skip
    assert [tuple(row) for row in rows] == [
        ("broken", "refused"), ("good", "fired"), ("good", "skipped")]  # fmt: skip


async def test_what_one_breaks_is_not_anothers_fault(
    store: Store, hand: Hand, ask: Engine, database_url: str
) -> None:
    """Another process has the broken one in hand by now: then this one refuses nothing."""
    if store.is_sqlite:
        pytest.skip("who writes to a file holds all of it")
    broken = await made(store, hand.clock, MINUTELY, name="broken")
    await made(store, hand.clock, MINUTELY, name="good")
    hand.forward(MINUTE)
    has_it, may_go = asyncio.Event(), asyncio.Event()

    def hold(connection: Connection) -> None:
        locked(connection, broken.public_id)
        has_it.set()
        wait_for(may_go.wait())

    async with Store(database_url) as other, asyncio.TaskGroup() as group:
        group.create_task(other.write(hold))
        await has_it.wait()
        assert await store.write(lambda c: refuse(c, broken.id, "Why not.", now=hand.at)) == []
        may_go.set()
    assert await ask.query("SELECT * FROM firings") == []


async def test_a_run_by_hand_in_the_moment_of_a_slot_takes_it_from_nobody(
    store: Store, hand: Hand, ask: Engine
) -> None:
    first = await with_job(store, hand, Once(hand.at + MINUTE))
    hand.forward(MINUTE)
    by_hand = await store.write(
        lambda c: run_now(c, str(first.schedule), firer(hand.clock), now=hand.at)
    )
    await store.write(lambda c: cancel(c, str(by_hand.job), now=hand.at))
    [fired] = await ticker(store, hand.clock).tick()
    assert (fired.outcome, fired.job) == ("fired", first.job)
    states = {row.state for row in await ask.query("SELECT state FROM jobs")}
    assert states == {"queued", "cancelled"}


async def test_the_job_of_a_slot_that_breaks_the_engine_is_called_off(
    store: Store, hand: Hand, ask: Engine
) -> None:
    first = await with_job(store, hand, Once(hand.at + MINUTE))
    await ask.execute("UPDATE schedules SET payload = 'no json'")
    hand.forward(MINUTE)
    await ticker(store, hand.clock).tick()
    [job] = await ask.query("SELECT public_id, state FROM jobs")
    assert (job.public_id, job.state) == (first.job, "cancelled")


async def test_a_slot_that_waits_goes_on_waiting_for_seconds_when_the_clock_is_set_back(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(store, hand.clock, MINUTELY, overlap=Overlap.QUEUE_ONE)
    hand.forward(MINUTE)
    [first] = await ticker(store, hand.clock).tick()
    hand.forward(MINUTE)
    await ticker(store, hand.clock).tick()
    await store.write(lambda c: cancel(c, str(first.job), now=hand.at))
    version = hand.clock.version
    assert version is not None
    assert await store.write(lambda c: _shift(c, version, -HOUR, since=0))
    hand.forward(-HOUR)
    hand.clock.version = version + 1
    hand.forward(5 * SECOND)
    [second] = await ticker(store, hand.clock).tick()
    assert second.outcome == "fired"


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
async def test_an_interval_after_the_end_lasts_as_long_when_the_clock_jumps(
    store: Store, hand: Hand, ask: Engine, jump: int
) -> None:
    """Other slots, and the moment before which none is to come, stay as clocks on the wall."""
    rule = Every(10, jitter=False, after_end=True)
    await made(store, hand.clock, rule, name="waits", payload={"duty": "cleanup"})
    await made(store, hand.clock, rule, name="later", not_before=hand.at + DAY)
    await made(store, hand.clock, Cron("0 0 1 1 *"), name="newyear")
    assert len(await ticker(store, hand.clock).tick()) == 1
    hand.forward(5 * SECOND)
    await ticker(store, hand.clock).tick()
    before = await slots(ask)
    version = hand.clock.version
    assert version is not None
    assert await store.write(lambda c: _shift(c, version, jump, since=0))
    hand.forward(jump)
    hand.clock.version = version + 1
    after = await slots(ask)
    assert after == before | {"waits": (before["waits"][0] + jump, before["waits"][1] + jump)}
    hand.forward(10 * MINUTE - 6 * SECOND)
    assert await ticker(store, hand.clock).tick() == []
    hand.forward(SECOND)
    assert len(await ticker(store, hand.clock).tick()) == 1


async def slots(ask: Engine) -> dict[str, tuple[int, int]]:
    rows = await ask.query("SELECT name, next_fire_at, look_at FROM schedules")
    return {row.name: (row.next_fire_at, row.look_at) for row in rows}


async def test_who_is_ahead_of_the_databases_clock_fires_nothing(
    store: Store, hand: Hand, ask: Engine
) -> None:
    """It was set back, and nobody has noticed yet."""
    await made(store, hand.clock, MINUTELY)
    hand.forward(HOUR)
    assert await ticker(store, hand.clock).step() == 0.2
    assert await ask.query("SELECT * FROM firings") == []


async def test_a_run_does_not_give_way_to_a_slot_that_would_be_refused(
    store: Store, hand: Hand, ask: Engine
) -> None:
    row = await made(store, hand.clock, MINUTELY, overlap=Overlap.CANCEL_RUNNING)
    hand.forward(MINUTE)
    await ticker(store, hand.clock).tick()
    bad = orjson.dumps({"fetch": {"url": "http://10.0.0.1/"}}).decode()
    await ask.execute("UPDATE schedules SET payload = :bad", bad=bad)
    hand.forward(MINUTE)
    [refused] = await ticker(store, hand.clock).tick()
    assert (refused.outcome, "10.0.0.1" in (refused.message or "")) == ("refused", True)
    with pytest.raises(BadRequest, match=r"10\.0\.0\.1"):
        await store.write(
            lambda c: replace_manually(c, row.public_id, firer(hand.clock), now=hand.at)
        )
    assert [job.state for job in await ask.query("SELECT state FROM jobs")] == ["queued"]


async def test_a_schedule_that_cannot_be_read_keeps_no_other_from_firing(
    store: Store, hand: Hand, ask: Engine
) -> None:
    """Not even where runs have to give way first."""
    broken = await made(store, hand.clock, MINUTELY, name="a", overlap=Overlap.CANCEL_RUNNING)
    await made(store, hand.clock, MINUTELY, name="b", overlap=Overlap.ALLOW)
    hand.forward(MINUTE)
    assert len(await ticker(store, hand.clock).tick()) == 2
    await ask.execute("UPDATE schedules SET payload = 'x' WHERE id = :id", id=broken.id)
    hand.forward(MINUTE)
    fired = {one.schedule.name: one for one in await ticker(store, hand.clock).tick()}
    assert {name: one.outcome for name, one in fired.items()} == {"a": "refused", "b": "fired"}
    assert "An error inside curtsy" in (fired["a"].message or "")


async def test_slots_that_are_caught_up_on_one_by_one_cancel_no_run(
    store: Store, hand: Hand, ask: Engine
) -> None:
    terms = {"overlap": Overlap.CANCEL_RUNNING, "catch_up": CatchUp.ALL}
    await made(store, hand.clock, MINUTELY, **terms)
    hand.forward(5 * MINUTE)
    for _ in range(3):
        await ticker(store, hand.clock).tick()
        hand.forward(5 * SECOND)
    assert [job.state for job in await ask.query("SELECT state FROM jobs")] == ["queued"]
    [row] = await ask.query("SELECT next_fire_at, last_fire_at FROM schedules")
    assert row.next_fire_at == row.last_fire_at + MINUTE, "the next waits for its turn"
