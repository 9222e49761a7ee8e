"""Slots that come while as many pages wait as may."""

import pytest

from curtsy.clock import MINUTE
from curtsy.errors import OverLimit, StoreAway
from curtsy.jobs import SubmitLimits, backlog, cancel
from curtsy.schedules.schedule import run_now
from curtsy.schedules.verdict import Overlap
from curtsy.store import Connection, Store
from curtsy.timetable import Cron, Every
from support.engine import Engine
from support.schedules import Hand, fetching, firer, made, ticker

MINUTELY = Cron("* * * * *")
ONE = SubmitLimits(pending=1)
SENTENCE = "2 pages would wait; the limit is 1."


async def test_a_slot_for_which_there_is_no_room_is_refused_and_the_others_fire(
    store: Store, hand: Hand, ask: Engine
) -> None:
    """Slots of other kinds, and its own next one when there is room again."""
    waiting = await ask.submit("https://b.example/")
    await made(store, hand.clock, MINUTELY, name="crowded", overlap=Overlap.ALLOW)
    await made(store, hand.clock, MINUTELY, name="tidy", payload={"duty": "cleanup"})
    scheduler = ticker(store, hand.clock, ONE)
    hand.forward(MINUTE)
    fired = {one.schedule.name: one for one in await scheduler.tick()}
    assert (fired["crowded"].outcome, fired["crowded"].message) == ("refused", SENTENCE)
    assert fired["tidy"].outcome == "fired"
    rows = await ask.query("SELECT message FROM firings WHERE outcome = 'refused'")
    assert [row.message for row in rows] == [SENTENCE]
    await store.write(lambda c: cancel(c, waiting, now=hand.at))
    hand.forward(MINUTE)
    outcomes = {one.schedule.name: one.outcome for one in await scheduler.tick()}
    assert outcomes == {"crowded": "fired", "tidy": "fired"}


async def test_slots_that_come_together_share_the_room(
    store: Store, hand: Hand, ask: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted once for all of them."""
    counted = 0
    whole = backlog._count

    def count(connection: Connection) -> dict[str | None, int]:
        nonlocal counted
        counted += 1
        return whole(connection)

    monkeypatch.setattr(backlog, "_count", count)
    for n in range(5):
        await made(store, hand.clock, MINUTELY, name=f"s{n}",
                   payload=fetching(f"https://a.example/{n}"))  # fmt: skip
    hand.forward(MINUTE)
    fired = await ticker(store, hand.clock, SubmitLimits(pending=3)).tick()
    assert sorted(one.outcome for one in fired) == ["fired"] * 3 + ["refused"] * 2
    assert counted == 1


async def test_the_room_of_a_user_is_that_users(store: Store, hand: Hand, ask: Engine) -> None:
    for user in ("ann", "bob"):
        await ask.submit(f"https://{user}.example/", user_id=user)
    await made(store, hand.clock, MINUTELY, name="hers", user_id="ann")
    await made(store, hand.clock, MINUTELY, name="nobodys")
    hand.forward(MINUTE)
    fired = await ticker(store, hand.clock, SubmitLimits(pending_of_user=1)).tick()
    told = {one.schedule.name: one.message for one in fired}
    assert told == {"hers": "2 pages of ann would wait; the limit is 1.", "nobodys": None}


async def test_refused_an_interval_after_the_end_comes_again_after_its_interval(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await ask.submit("https://b.example/")
    await made(store, hand.clock, Every(10, jitter=False, after_end=True))
    scheduler = ticker(store, hand.clock, ONE)
    for _ in range(21):
        await scheduler.tick()
        hand.forward(MINUTE)
    rows = await ask.query("SELECT outcome FROM firings")
    assert [row.outcome for row in rows] == ["refused"] * 3


async def test_by_hand_it_is_refused_as_a_submit_would_be(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await ask.submit("https://b.example/")
    row = await made(store, hand.clock, MINUTELY)
    full = firer(hand.clock, ONE)
    await full.pending.count(store)
    with pytest.raises(OverLimit, match="the limit is 1"):
        await store.write(lambda c: run_now(c, row.public_id, full, now=hand.at))
    assert await ask.query("SELECT * FROM firings") == []


async def test_slots_fire_also_when_nobody_can_say_how_much_waits(
    store: Store, hand: Hand, ask: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(_connection: Connection) -> dict[str | None, int]:
        raise StoreAway("it took too long")

    monkeypatch.setattr(backlog, "_count", count)
    await made(store, hand.clock, MINUTELY)
    hand.forward(MINUTE)
    [fired] = await ticker(store, hand.clock, ONE).tick()
    assert fired.outcome == "fired"
