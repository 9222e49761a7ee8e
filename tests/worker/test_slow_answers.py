"""The store did it, but its answer takes its time: meanwhile the world goes on."""

import asyncio
from typing import Any

import pytest

from curtsy.demo.site import PracticeSite
from curtsy.politeness.policy import Policy
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
    [source] = await curtsy.ask("SELECT owner, epoch FROM sources")
    assert (source.owner, source.epoch) == (None, 2), "one lease each, none given back as a stray"
