"""The store did it, but its answer takes its time: meanwhile the world goes on."""

import asyncio
from random import Random
from typing import Any

import pytest

from curtsy.demo.practice_site import PracticeSite
from curtsy.politeness.policy import Policy
from curtsy.worker import budget
from support.engine import Engine, settings, until
from support.patience import PATIENCE


async def test_a_source_leased_again_before_its_release_is_answered_keeps_its_new_lane(
    curtsy: Engine, site: PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the old lane, when it ends, takes the new one off the worker's list."""
    released, answer = asyncio.Event(), asyncio.Event()
    write = curtsy.store.write

    async def held(work: Any, **how: Any) -> Any:
        done = await write(work, **how)
        batch = getattr(work, "keywords", {}).get("batch")
        if batch is not None and any(r.release for r in batch.reports.values()):
            released.set()
            await answer.wait()
        return done

    monkeypatch.setattr(curtsy.store, "write", held)
    async with curtsy.worker(settings(Policy(min_delay=0))):
        first = await curtsy.submit(site.url(0, "/page/1"))
        await asyncio.wait_for(released.wait(), PATIENCE)
        second = await curtsy.submit(*(site.url(0, f"/slow/300/{n}") for n in range(8)))

        async def leased_again() -> bool:
            return len(site.entries()) >= 2

        await until(leased_again, 30, lambda: "the source was not leased again")
        answer.set()
        assert (await curtsy.ended(second)).state == "succeeded"
        assert (await curtsy.job(first)).state == "succeeded"
    [source] = await curtsy.query("SELECT owner, epoch FROM sources")
    assert (source.owner, source.epoch) == (None, 2), "one lease each, none given back as a stray"


@pytest.mark.parametrize("before", [0, 3], ids=["begun at the end", "long open"])
async def test_a_page_that_takes_its_time_does_not_hold_up_those_that_may_be_open_beside_it(
    curtsy: Engine, site: PracticeSite, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """Not even where the lane's budget ends meanwhile: it cannot give the source back anyway."""
    monkeypatch.setattr(budget, "VISITS", 4)
    monkeypatch.setattr(budget, "SLOW", 100)
    quick = [site.url(0, f"/page/{n}") for n in range(30)]
    slow = site.url(0, "/slow/8000/1")
    policy = Policy(min_delay=50, concurrency=3)
    async with curtsy.worker(settings(policy)):
        job = await curtsy.submit(*quick[: 3 - before], slow, *quick[3 - before :])

        async def all_but_one() -> bool:
            return (await curtsy.job(job)).done == 30

        await until(all_but_one, 6, lambda: f"{len(site.entries())} were asked for")
        [source] = await curtsy.query("SELECT epoch FROM sources")
        assert source.epoch == 1, "it was never given back"
        assert (await curtsy.ended(job, 30)).done == 31


async def test_beyond_its_budget_a_lane_goes_on_for_a_while_and_no_longer() -> None:
    spent = budget.Budget(0, Random(1))
    end = next(at for at in range(15_000, 25_001) if spent.is_spent(at))
    spent.spend(7, end - 100)
    assert spent.overtime(end) == 900, "it may end any moment"
    assert spent.overtime(end + 900) == 0
    assert spent.overtime(end + 29_999) == 0
    assert spent.overtime(end + 30_000) is None
    spent.ended(7)
    assert spent.overtime(end) is None
