"""A worker is killed when its POST has reached the site and the answer has not come: no other
worker sends it again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from curtsy.clock import Clock
from curtsy.jobs import JobRequest, PageRequest, retry_failures
from curtsy.model.page_body import Method, PageBody
from curtsy.store import Store
from support.engine import Engine, engine, until
from support.patience import PATIENCE
from support.posts import HOLD, OK, PostSite
from support.processes import Fleet, Process


@pytest.fixture
def fleet(database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(tmp_path, database_url, robots="ignore", worker_slots=4) as made:
        yield made


async def _owner(curtsy: Engine, fleet: Fleet) -> Process:
    """The process that holds the source of the page."""
    [row] = await curtsy.query("SELECT owner FROM sources WHERE owner IS NOT NULL")
    [holder] = [process for process in fleet.workers
                if process.logged("worker_started")[0]["worker"] == row.owner]  # fmt: skip
    return holder


async def _killed_in_between(
    curtsy: Engine, fleet: Fleet, site: PostSite, body: PageBody, *, without: str | None = None
) -> str:
    """Kills the worker while the site holds the answer; returns the job after its end."""
    for _ in range(2):
        fleet.worker(without=without)

    async def both_run() -> bool:
        return len(fleet.logged("worker_started")) == 2

    await until(both_run, PATIENCE, lambda: "a worker does not start")
    request = JobRequest(door="fetch", pages=[PageRequest(site.url("/order"), body=body)])
    job = (await curtsy.submitter.submit(request)).job

    async def arrived() -> bool:
        return site.arrived.is_set()

    await until(arrived, PATIENCE, lambda: "the request did not arrive")
    (await _owner(curtsy, fleet)).kill()
    await curtsy.ended(job)
    return job


ORDER = PageBody(Method.POST, '{"order":1}', "application/json")


async def test_a_post_is_not_sent_again_after_its_worker_was_killed(
    store: Store, clock: Clock, fleet: Fleet
) -> None:
    curtsy = engine(store, clock)
    async with PostSite() as site:
        site.script["/order"] = [HOLD, OK]
        job = await _killed_in_between(curtsy, fleet, site, ORDER)
        [item] = await curtsy.items(job)
        assert [one.body for one in site.heard] == [b'{"order":1}']
        assert item.kind == "unknown_outcome"
        assert "its worker died" in item.error
        [letter] = await curtsy.query("SELECT kind, final FROM dead_letters WHERE state = 'open'")
        assert (letter.kind, bool(letter.final)) == ("unknown_outcome", True)
        await store.write(lambda c: retry_failures(c, job, now=clock.now()))
        assert (await curtsy.ended(job)).state == "succeeded", "a person decided to send it again"
        assert len(site.heard) == 2
    await fleet.stop()
    assert fleet.crashes() == []


async def test_without_the_mark_the_site_gets_it_twice(
    store: Store, clock: Clock, fleet: Fleet
) -> None:
    async with PostSite() as site:
        site.script["/order"] = [HOLD, OK]
        await _killed_in_between(engine(store, clock), fleet, site, ORDER, without="post_mark")
        assert len(site.heard) == 2


async def test_an_idempotent_post_is_sent_again_like_a_get(
    store: Store, clock: Clock, fleet: Fleet
) -> None:
    curtsy = engine(store, clock)
    async with PostSite() as site:
        site.script["/order"] = [HOLD, OK]
        job = await _killed_in_between(curtsy, fleet, site, ORDER._replace(idempotent=True))
        assert (await curtsy.job(job)).state == "succeeded"
        assert len(site.heard) == 2
