"""Slots that replace a run, where two schedulers or a person come at the worst moment."""

import asyncio
from typing import Any

import pytest

from curtsy.clock import MINUTE
from curtsy.errors import WrongState
from curtsy.schedules import firer as firing
from curtsy.schedules import overlap
from curtsy.schedules.lookup import find, locked
from curtsy.schedules.schedule import run_now, set_enabled
from curtsy.schedules.verdict import Overlap
from curtsy.timetable import Cron
from support.frontier import START, Bench
from support.holding import hold
from support.schedules import Hand, firer, made, ticker
from support.sql import run, text

Patch = pytest.MonkeyPatch
EVERY_MINUTE = Cron("* * * * *")


class Case:
    """A schedule whose next slot replaces the run of the one before, which goes on."""

    def __init__(self, bench: Bench, hand: Hand, row: Any) -> None:
        self.bench, self.hand, self.row = bench, hand, row

    @classmethod
    async def staged(cls, bench: Bench) -> "Case":
        hand = Hand(START // MINUTE * MINUTE)
        row = await made(bench.store, hand.clock, EVERY_MINUTE, overlap=Overlap.CANCEL_RUNNING)
        case = cls(bench, hand, row)
        hand.forward(MINUTE)
        await case.tick()
        hand.forward(MINUTE)
        return case

    async def tick(self) -> None:
        await ticker(self.bench.store, self.hand.clock).tick()

    async def by_hand(self) -> None:
        await self.bench.store.write(
            lambda c: run_now(c, self.row.public_id, firer(self.hand.clock), now=self.hand.at)
        )

    async def states(self) -> list[str]:
        found = text("SELECT state FROM jobs ORDER BY id")
        return await self.bench.store.read(lambda c: list(run(c, found).scalars()))

    async def outcomes(self) -> list[str]:
        found = text("SELECT outcome FROM firings ORDER BY fire_at")
        return await self.bench.store.read(lambda c: list(run(c, found).scalars()))


async def test_who_comes_late_cancels_no_run_of_the_slot_that_another_has_fired(
    bench: Bench, monkeypatch: Patch
) -> None:
    case = await Case.staged(bench)
    held = hold(monkeypatch, overlap, "_STILL_DUE")
    late = asyncio.create_task(case.tick())
    await held.reached()
    await case.tick()
    held.let_go()
    await late
    assert await case.states() == ["cancelled", "queued"]
    assert await case.outcomes() == ["fired", "fired"]


async def test_a_run_does_not_give_way_to_a_slot_that_somebody_paused_meanwhile(
    bench: Bench, monkeypatch: Patch
) -> None:
    case = await Case.staged(bench)
    held = hold(monkeypatch, overlap, "_STILL_DUE")
    ticking = asyncio.create_task(case.tick())
    await held.reached()
    await bench.store.write(
        lambda c: set_enabled(c, locked(c, case.row.public_id), enabled=False, now=case.hand.at)
    )
    held.let_go()
    await ticking
    assert await case.states() == ["queued"]


async def test_a_run_by_hand_between_the_cancelling_and_the_firing_gives_way_as_well(
    bench: Bench, monkeypatch: Patch
) -> None:
    case = await Case.staged(bench)
    held = hold(monkeypatch, firing, "_DUE")
    ticking = asyncio.create_task(case.tick())
    await held.reached()
    await case.by_hand()
    held.let_go()
    await ticking
    assert await case.states() == ["cancelled", "queued"], "the slot comes beside no run"
    await case.tick()
    assert await case.states() == ["cancelled", "cancelled", "queued"]
    assert await case.outcomes() == ["fired"] * 3
    row = await bench.store.read(lambda c: find(c, case.row.public_id))
    assert row.next_fire_at == case.hand.at + MINUTE


async def test_two_runs_by_hand_do_not_go_on_beside_each_other(
    bench: Bench, monkeypatch: Patch
) -> None:
    """Each found that the run before had given way."""
    case = await Case.staged(bench)
    replace_run = overlap.replace_manually
    for _ in range(2):
        await bench.store.write(
            lambda c: replace_run(c, case.row.public_id, firer(case.hand.clock), now=case.hand.at)
        )
    ends = await asyncio.gather(case.by_hand(), case.by_hand(), return_exceptions=True)
    assert [type(end) for end in ends].count(WrongState) == 1
    assert (await case.states()).count("queued") == 1
