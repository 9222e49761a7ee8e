"""Slots fire once, with their job and the next slot in one transaction."""

import asyncio
from dataclasses import replace

import orjson
import pytest

from curtsy.clock import HOUR, MINUTE, SECOND
from curtsy.errors import StoreAway, WrongState
from curtsy.jobs import cancel
from curtsy.schedules import due as looking
from curtsy.schedules.firer import FireResult
from curtsy.schedules.listing import newest_lags, read_status
from curtsy.schedules.lookup import find
from curtsy.schedules.schedule import change, remove, run_now, set_enabled, spec_of
from curtsy.schedules.task_queue import TaskQueue
from curtsy.schedules.verdict import CatchUp, Overlap
from curtsy.store import Connection, Statement, Store
from curtsy.timetable import Cron, Every, Once, to_json
from support.engine import Engine
from support.schedules import Hand, fetching, firer, made, ticker

MINUTELY = Cron("* * * * *")


async def firings(ask: Engine) -> list[tuple[str, int]]:
    rows = await ask.query("SELECT outcome, fire_at FROM firings ORDER BY schedule_id, fire_at")
    return [(row.outcome, row.fire_at) for row in rows]


async def test_a_slot_has_one_job_and_the_next_slot_is_set(
    store: Store, hand: Hand, ask: Engine
) -> None:
    row = await made(store, hand.clock, MINUTELY)
    tick = ticker(store, hand.clock).tick
    assert await tick() == []
    hand.forward(MINUTE)
    (fired,) = await tick()
    assert await tick() == []
    [job] = await ask.query("SELECT * FROM jobs")
    assert (job.public_id, job.schedule_id, job.trigger) == (fired.job, row.id, "schedule")
    assert await firings(ask) == [("fired", hand.at)]
    now = await store.read(lambda c: find(c, row.public_id))
    assert (now.next_fire_at, now.last_fire_at) == (hand.at + MINUTE, hand.at)


async def test_many_who_look_at_the_same_moment_make_one_job(
    store: Store, hand: Hand, ask: Engine
) -> None:
    for n in range(20):
        await made(
            store, hand.clock, MINUTELY, name=f"s{n}", payload=fetching(f"https://a.example/{n}")
        )
    hand.forward(MINUTE)
    await asyncio.gather(*(ticker(store, hand.clock).tick() for _ in range(8)))
    await ticker(store, hand.clock).tick()
    assert len(await ask.query("SELECT * FROM jobs")) == 20
    assert await firings(ask) == [("fired", hand.at)] * 20


async def test_a_slot_that_has_its_row_already_makes_no_job(
    store: Store, hand: Hand, ask: Engine
) -> None:
    """The unique row decides, also where somebody set the schedule back."""
    row = await made(store, hand.clock, MINUTELY)
    hand.forward(MINUTE)
    await ticker(store, hand.clock).tick()
    await ask.execute("UPDATE schedules SET next_fire_at = :at, look_at = :at", at=hand.at)
    assert await ticker(store, hand.clock).tick() == []
    assert len(await ask.query("SELECT * FROM jobs")) == 1
    assert (await store.read(lambda c: find(c, row.public_id))).next_fire_at == hand.at + MINUTE


async def test_a_run_that_goes_on_makes_the_next_slot_skip_and_says_so(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(store, hand.clock, MINUTELY)
    for _ in range(2):
        hand.forward(MINUTE)
        await ticker(store, hand.clock).tick()
    assert [outcome for outcome, _at in await firings(ask)] == ["fired", "skipped"]
    [skipped] = await ask.query("SELECT message FROM firings WHERE outcome = 'skipped'")
    assert "still running" in skipped.message


async def test_a_slot_that_waits_fires_when_the_run_before_has_ended(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(store, hand.clock, MINUTELY, overlap=Overlap.QUEUE_ONE)
    hand.forward(MINUTE)
    [first] = await ticker(store, hand.clock).tick()
    assert first.job is not None
    hand.forward(MINUTE)
    assert await ticker(store, hand.clock).tick() == []
    waiting = hand.at
    assert await firings(ask) == [("fired", waiting - MINUTE), ("waiting", waiting)]
    await store.write(lambda c: cancel(c, first.job, now=hand.at))
    hand.forward(3 * SECOND)
    [second] = await ticker(store, hand.clock).tick()
    assert (second.fire_at, second.outcome) == (waiting, "fired")
    assert await firings(ask) == [("fired", waiting - MINUTE), ("fired", waiting)]
    status = await store.read(lambda c: read_status(c, now=hand.at, alive=1, late=SECOND))
    assert (status.fired, status.late, status.worst_lag) == (1, 0, 0), "it was to wait"
    assert await store.read(lambda c: newest_lags(c, now=hand.at, most=9)) == [0]


async def test_a_run_is_replaced_where_the_schedule_says_so(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(store, hand.clock, MINUTELY, overlap=Overlap.CANCEL_RUNNING)
    for _ in range(3):
        hand.forward(MINUTE)
        await ticker(store, hand.clock).tick()
    states = [row.state for row in await ask.query("SELECT state FROM jobs ORDER BY id")]
    assert states == ["cancelled", "cancelled", "queued"]


async def test_runs_may_go_on_beside_each_other(store: Store, hand: Hand, ask: Engine) -> None:
    await made(store, hand.clock, MINUTELY, overlap=Overlap.ALLOW)
    for _ in range(3):
        hand.forward(MINUTE)
        await ticker(store, hand.clock).tick()
    assert [row.state for row in await ask.query("SELECT state FROM jobs")] == ["queued"] * 3


async def test_a_payload_that_became_invalid_is_told_and_the_schedule_goes_on(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(
        store, hand.clock, MINUTELY, payload={"fetch": {"url": "https://a.example/", "x": 1}}
    )
    hand.forward(MINUTE)
    [refused] = await ticker(store, hand.clock).tick()
    assert refused.outcome == "refused"
    assert "fetch.x" in (refused.message or "")
    [row] = await ask.query("SELECT f.message, s.next_fire_at FROM firings f, schedules s")
    assert row.message == refused.message
    assert row.next_fire_at == hand.at + MINUTE


async def test_a_source_that_is_paused_is_told_and_its_pages_wait(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await ask.submit("https://a.example/0")
    await ask.execute("UPDATE sources SET paused = true")
    await made(store, hand.clock, MINUTELY)
    hand.forward(MINUTE)
    [fired] = await ticker(store, hand.clock).tick()
    assert (fired.outcome, fired.message) == (
        "fired", "Its source a.example is paused: its pages wait.")  # fmt: skip
    [row] = await ask.query("SELECT message FROM firings")
    assert row.message == fired.message


async def test_one_that_breaks_the_engine_does_not_keep_others_from_firing(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(store, hand.clock, MINUTELY, name="good")
    broken = await made(store, hand.clock, MINUTELY, name="broken")
    await ask.execute("UPDATE schedules SET payload = 'no json' WHERE id = :id", id=broken.id)
    hand.forward(MINUTE)
    fired = await ticker(store, hand.clock).tick()
    assert {(one.schedule.name, one.outcome) for one in fired} == {
        ("good", "fired"),
        ("broken", "refused"),
    }
    assert await ticker(store, hand.clock).tick() == []


async def test_after_an_absence_each_catches_up_as_it_says(
    store: Store, hand: Hand, ask: Engine
) -> None:
    rule = Cron("0 * * * *")
    hand.forward(-hand.at % HOUR + MINUTE)  # so that it comes back between two slots
    for catch_up in CatchUp:
        await made(
            store, hand.clock, rule, name=catch_up.value, catch_up=catch_up, overlap=Overlap.ALLOW
        )
    hand.forward(6 * HOUR + 30 * MINUTE)
    for _ in range(8):
        await ticker(store, hand.clock).tick()
    rows = await ask.query("""
        SELECT s.name, f.outcome, count(*) AS number FROM firings f
        JOIN schedules s ON s.id = f.schedule_id GROUP BY s.name, f.outcome""")  # fmt: skip
    counts = {(row.name, row.outcome): row.number for row in rows}
    assert counts == {("all", "fired"): 6, ("none", "missed"): 6, ("latest", "fired"): 1,
                      ("latest", "missed"): 5}  # fmt: skip


async def test_a_clock_that_jumps_makes_no_burst_no_early_and_no_double_run(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(store, hand.clock, Every(10, jitter=False), name="every ten", overlap=Overlap.ALLOW)
    tick = ticker(store, hand.clock).tick
    hand.forward(2 * HOUR)
    assert len(await tick()) == 1
    hand.forward(-HOUR)
    for _ in range(7):
        assert await tick() == []
        hand.forward(10 * MINUTE)
    hand.forward(MINUTE)
    fired = [at for outcome, at in await firings(ask) if outcome == "fired"]
    assert len(fired) == len(set(fired)) == 1
    assert len(await tick()) == 1


async def test_who_has_not_heard_of_a_jump_fires_nothing(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(store, hand.clock, MINUTELY)
    hand.forward(MINUTE)
    await ask.execute("UPDATE clock SET version = version + 1")
    assert await ticker(store, hand.clock).step() == 0.2
    assert await firings(ask) == []


async def test_an_interval_counts_from_the_end_of_the_last_run(
    store: Store, hand: Hand, ask: Engine
) -> None:
    rule = Every(10, jitter=False, after_end=True)
    row = await made(store, hand.clock, rule)
    [first] = await ticker(store, hand.clock).tick()
    assert first.job is not None
    hand.forward(30 * MINUTE)
    assert await ticker(store, hand.clock).tick() == []
    await store.write(lambda c: cancel(c, first.job, now=hand.at))
    ended = hand.at
    hand.forward(5 * SECOND)
    await ticker(store, hand.clock).tick()
    assert (await store.read(lambda c: find(c, row.public_id))).next_fire_at == ended + 10 * MINUTE
    hand.forward(10 * MINUTE)
    assert len(await ticker(store, hand.clock).tick()) == 1


async def test_a_schedule_for_once_is_done_when_it_fired(store: Store, hand: Hand) -> None:
    row = await made(store, hand.clock, Once(hand.at + 5 * SECOND))
    hand.forward(5 * SECOND)
    assert len(await ticker(store, hand.clock).tick()) == 1
    row = await store.read(lambda c: find(c, row.public_id))
    assert (row.next_fire_at, row.look_at) == (None, None)


async def test_paused_slots_pass_and_are_not_caught_up_on(
    store: Store, hand: Hand, ask: Engine
) -> None:
    row = await made(store, hand.clock, MINUTELY)
    await store.write(lambda c: set_enabled(c, row, enabled=False, now=hand.at))
    hand.forward(10 * MINUTE)
    assert await ticker(store, hand.clock).tick() == []
    row = await store.write(
        lambda c: set_enabled(c, find(c, row.public_id), enabled=True, now=hand.at)
    )
    assert row.next_fire_at == hand.at + MINUTE
    assert await firings(ask) == []


async def test_another_rule_begins_anew_and_other_words_leave_the_slots_alone(
    store: Store, hand: Hand
) -> None:
    row = await made(store, hand.clock, Cron("30 * * * *"))
    plan = spec_of(row)
    same = await store.write(
        lambda c: change(c, row.public_id, replace(plan, overlap=Overlap.ALLOW), now=hand.at)
    )
    assert same.next_fire_at == row.next_fire_at
    other = await store.write(
        lambda c: change(c, row.public_id, replace(plan, rule=MINUTELY), now=hand.at)
    )
    assert other.next_fire_at == hand.at + MINUTE


async def test_a_run_by_hand_moves_no_slot_and_is_refused_beside_another(
    store: Store, hand: Hand, ask: Engine
) -> None:
    row = await made(store, hand.clock, MINUTELY)
    fired = await store.write(lambda c: run_now(c, row.public_id, firer(hand.clock), now=hand.at))
    with pytest.raises(WrongState, match=f"running as {fired.job}"):
        await store.write(lambda c: run_now(c, row.public_id, firer(hand.clock), now=hand.at))
    [job] = await ask.query("SELECT trigger FROM jobs")
    assert job.trigger == "manual"
    assert (await store.read(lambda c: find(c, row.public_id))).next_fire_at == row.next_fire_at


async def test_removed_it_fires_no_more_and_what_runs_goes_on(
    store: Store, hand: Hand, ask: Engine
) -> None:
    row = await made(store, hand.clock, MINUTELY)
    hand.forward(MINUTE)
    await ticker(store, hand.clock).tick()
    await store.write(lambda c: remove(c, row.public_id, now=hand.at))
    hand.forward(MINUTE)
    assert await ticker(store, hand.clock).tick() == []
    assert [job.state for job in await ask.query("SELECT state FROM jobs")] == ["queued"]
    assert await firings(ask) == []


async def test_a_duty_runs_and_says_what_it_did(store: Store, hand: Hand, ask: Engine) -> None:
    for duty in ("dead_letters", "cleanup", "health", "reports"):
        await made(store, hand.clock, MINUTELY, name=duty, payload={"duty": duty})
    hand.forward(MINUTE)
    scheduler = ticker(store, hand.clock)
    await scheduler.tick()
    await scheduler.tasks.step()
    rows = await ask.query("""
        SELECT s.name, f.outcome, f.message FROM firings f JOIN schedules s ON s.id = f.schedule_id
        ORDER BY s.name""")  # fmt: skip
    assert [(row.name, row.outcome) for row in rows] == [
        ("cleanup", "fired"), ("dead_letters", "fired"), ("health", "fired"),
        ("reports", "fired")]  # fmt: skip
    assert "Deleted" in rows[0].message
    assert "retried" in rows[1].message
    assert "wait" in rows[2].message
    assert "Report" in rows[3].message


async def test_a_duty_that_takes_long_holds_up_no_slot(
    store: Store, hand: Hand, ask: Engine
) -> None:
    """What is owed twice meanwhile is done once, and both slots say so."""
    scheduler, let_go, done = ticker(store, hand.clock), asyncio.Event(), 0

    async def slowly() -> str:
        nonlocal done
        done += 1
        await let_go.wait()
        return "Done at last."

    scheduler.tasks = TaskQueue(store=store, tasks={"cleanup": slowly})
    await made(store, hand.clock, MINUTELY, name="long", payload={"duty": "cleanup"})
    await made(store, hand.clock, MINUTELY, name="short", overlap=Overlap.ALLOW)
    doing = None
    for _ in range(3):
        hand.forward(MINUTE)
        assert len(await scheduler.tick()) == 2
        doing = doing or asyncio.create_task(scheduler.tasks.step())
        await asyncio.sleep(0)
    let_go.set()
    await doing
    rows = await ask.query("SELECT message FROM firings WHERE message IS NOT NULL")
    assert [row.message for row in rows] == ["Done at last."] * 3
    assert done == 2


async def test_cleanup_forgets_old_jobs_and_no_others(
    store: Store, hand: Hand, ask: Engine
) -> None:
    old, young = [await ask.submit(f"https://a.example/{n}") for n in range(2)]
    for job in (old, young):
        await store.write(lambda c: cancel(c, job, now=hand.at))  # noqa: B023
    await ask.execute(
        "UPDATE jobs SET created_at = 1, finished_at = 1 WHERE public_id = :job", job=old
    )
    await made(store, hand.clock, MINUTELY, payload={"duty": "cleanup"})
    hand.forward(MINUTE)
    scheduler = ticker(store, hand.clock)
    await scheduler.tick()
    await scheduler.tasks.step()
    assert [row.public_id for row in await ask.query("SELECT public_id FROM jobs")] == [young]


async def test_a_batch_is_not_the_end_of_what_is_due(store: Store, hand: Hand, ask: Engine) -> None:
    payload = orjson.dumps(fetching()).decode()
    statement = Statement(
        """
        INSERT INTO schedules (public_id, name, rule, payload, window_ms, next_fire_at, look_at,
                               overlap, created_at, updated_at)
        SELECT name, name, :rule, :payload, 86400000, :at, :at, 'allow', 0, 0
        FROM {made} WHERE true
        """,
        made={"name": "text"},
    )
    hand.forward(MINUTE)
    names = [(f"s{n}",) for n in range(120)]
    await store.write(
        lambda c: (
            statement(c, made=names, rule=to_json(MINUTELY), payload=payload, at=hand.at) and None
        )
    )
    one = ticker(store, hand.clock)
    while await one.tick():
        pass
    assert await firings(ask) == [("fired", hand.at)] * 120


async def test_after_an_absence_an_interval_after_the_end_of_a_duty_is_no_burst(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(store, hand.clock, Every(5, jitter=False, after_end=True),
               payload={"duty": "cleanup"})  # fmt: skip
    scheduler = ticker(store, hand.clock)
    assert len(await scheduler.tick()) == 1
    hand.forward(2 * HOUR)
    for _ in range(10):
        await scheduler.tick()
        hand.forward(3 * SECOND)
    assert len(await firings(ask)) == 2


async def test_what_is_too_much_for_one_transaction_fires_in_several(
    store: Store, hand: Hand, ask: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "MOST_BYTES_TOGETHER", 100)
    for n in range(5):
        await made(
            store, hand.clock, MINUTELY, name=f"s{n}", payload=fetching(f"https://a.example/{n}")
        )
    hand.forward(MINUTE)
    scheduler = ticker(store, hand.clock)
    sizes = [len(await scheduler.tick()) for _ in range(6)]
    assert (sum(sizes), max(sizes) < 5) == (5, True)


async def test_of_many_that_were_missed_the_first_that_is_told_tells_of_the_others(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(store, hand.clock, MINUTELY)
    hand.forward(5 * HOUR)
    await ticker(store, hand.clock).tick()
    rows = await ask.query("SELECT message FROM firings WHERE outcome = 'missed' ORDER BY fire_at")
    late = "No scheduler was running at that time"
    assert rows[0].message == f"{late}, nor at the 199 slots before it."
    assert [row.message for row in rows[1:]] == [f"{late}."] * 99


async def test_many_slots_that_are_skipped_hold_up_no_others(
    store: Store, hand: Hand, ask: Engine
) -> None:
    """There is another look at once."""
    for n in range(3):
        await made(store, hand.clock, MINUTELY, name=f"s{n}")
    due = "UPDATE schedules SET next_fire_at = :at, look_at = :at"
    hand.forward(-MINUTE)
    await ask.execute(due, at=hand.at)
    scheduler = ticker(store, hand.clock)
    assert await scheduler.step() == 0.0
    hand.forward(MINUTE)
    assert await scheduler.step() == 0.0
    assert [outcome for outcome, _at in await firings(ask)] == ["fired", "skipped"] * 3
    assert await scheduler.step() > 0.0


async def test_what_the_store_cannot_bear_together_is_tried_apart(
    store: Store, hand: Hand, ask: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        await made(
            store, hand.clock, MINUTELY, name=f"s{n}", payload=fetching(f"https://a.example/{n}")
        )
    hand.forward(MINUTE)
    scheduler = ticker(store, hand.clock)
    whole = scheduler._firer.fire_due

    def fire_due(connection: Connection, *, now: int, only: int | None = None) -> FireResult:
        if only is None:
            raise StoreAway("it took too long")
        return whole(connection, now=now, only=only)

    monkeypatch.setattr(scheduler._firer, "fire_due", fire_due)
    for _ in range(2):
        with pytest.raises(StoreAway):
            await scheduler.tick()
    assert len(await scheduler.tick()) == 3
    assert await firings(ask) == [("fired", hand.at)] * 3
