"""Orders that reach a running worker, and the order in which it works."""

import asyncio
from statistics import median
from typing import Any

import pytest

from curtsy.demo.practice_site import PracticeSite
from curtsy.fetch import Limits
from curtsy.frontier.control import lost_visits
from curtsy.jobs import cancel, retry_failures
from curtsy.politeness.policy import Policy
from curtsy.store import Connection
from curtsy.worker import session
from support.engine import Engine, settings, until
from support.hostile import Script, Servers, when_let_go
from support.patience import TRIES


async def started(site: PracticeSite, number: int) -> None:
    async def fact() -> bool:
        return len(site.entries()) >= number

    await until(fact, 10, lambda: f"only {len(site.entries())} requests came")


def place(site: PracticeSite, path: str) -> int:
    """Of a page in the order in which all were asked for."""
    return [entry.path for entry in site.entries()].index(path)


async def test_cancel_aborts_what_is_open_within_a_second_or_so(
    curtsy: Engine, site: PracticeSite
) -> None:
    long = Limits(connect_seconds=10, total_seconds=600)
    async with curtsy.worker(settings(limits=long)):
        for tries in range(1, TRIES + 1):
            slow = site.url(0, f"/slow/600000/{tries}")
            job = await curtsy.submit(slow, site.url(0, f"/page/{tries}"))
            await started(site, tries)
            began = curtsy.clock.monotonic()
            removed = await curtsy.store.write(
                lambda c, j=job: cancel(c, j, now=curtsy.clock.now())
            )

            async def hung_up() -> bool:
                return site.entries()[-1].ended_at is not None

            await until(hung_up, 30, lambda: "the request is still open")
            assert removed == 2
            assert (await curtsy.job(job)).state == "cancelled"
            assert len(site.entries()) == tries
            if curtsy.clock.monotonic() - began < 4_000:
                return
    raise AssertionError("each time the request stayed open for long")


async def test_news_of_an_earlier_turn_of_a_page_does_not_abort_the_one_that_is_open(
    curtsy: Engine, site: PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer took so long that meanwhile the page was told of and begun again."""
    asked = []

    def of_the_turn_before(connection: Connection, held: list[tuple[int, int, int]]) -> Any:
        asked.extend(held)
        return lost_visits(connection, [(page, turn - 1, source) for page, turn, source in held])

    monkeypatch.setattr(session, "lost_visits", of_the_turn_before)
    async with curtsy.worker():
        job = await curtsy.submit(site.url(0, "/slow/2500/1"))
        assert (await curtsy.ended(job)).state == "succeeded"
    assert asked
    assert len(site.entries()) == 1


async def test_jobs_one_after_the_other_on_one_source_do_not_wait_for_each_other(
    curtsy: Engine, site: PracticeSite
) -> None:
    """Each comes while the source that the one before emptied is about to be given back."""
    async with curtsy.worker():
        took = []
        for n in range(9):
            began = curtsy.clock.monotonic()
            await curtsy.ended(await curtsy.submit(site.url(0, f"/page/{n}")))
            took.append(curtsy.clock.monotonic() - began)
    assert median(took[1:]) < 900, "a look again each would be a second each"


async def test_a_page_that_another_job_waits_for_survives_a_cancel(
    curtsy: Engine, site: PracticeSite
) -> None:
    one = await curtsy.submit(site.url(0, "/page/1"))
    other = await curtsy.submit(site.url(0, "/page/1"))
    await curtsy.store.write(lambda c: cancel(c, one, now=curtsy.clock.now()))
    async with curtsy.worker():
        assert (await curtsy.ended(other)).state == "succeeded"
    assert (await curtsy.job(one)).state == "cancelled"
    assert len(site.entries()) == 1


async def test_a_paused_source_starts_nothing_and_keeps_its_queue(
    curtsy: Engine, site: PracticeSite
) -> None:
    async with curtsy.worker(settings(Policy(min_delay=50))):
        job = await curtsy.submit(*(site.url(0, f"/page/{n}") for n in range(200)))
        await started(site, 3)
        await curtsy.execute(
            "UPDATE sources SET paused = true, control_version = control_version + 1"
        )

        async def given_back() -> bool:
            [source] = await curtsy.query("SELECT owner FROM sources")
            return source.owner is None

        await until(given_back, 30, lambda: "the paused source is still held")
        before = len(site.entries())
        await asyncio.sleep(0.3)  # time in which it would have started several
        assert len(site.entries()) == before
        row = await curtsy.job(job)
        [left] = await curtsy.query("SELECT count(*) AS n FROM visits")
        assert left.n == 200 - row.done


async def test_a_new_policy_reaches_a_running_lane(curtsy: Engine, site: PracticeSite) -> None:
    async with curtsy.worker(settings(Policy(min_delay=1500))):
        job = await curtsy.submit(*(site.url(0, f"/page/{n}") for n in range(200)))
        await started(site, 1)
        await curtsy.execute(
            "UPDATE sources SET policy = :policy, control_version = control_version + 1",
            policy='{"min_delay": 5}',
        )
        assert (await curtsy.ended(job)).done == 200, "five minutes' worth as it was"


async def test_a_better_priority_goes_first_although_it_came_later(
    curtsy: Engine, site: PracticeSite
) -> None:
    async with curtsy.worker(settings(Policy(min_delay=100))):
        await curtsy.submit(*(site.url(0, f"/page/{n}") for n in range(100)), priority=9)
        await started(site, 3)
        high = await curtsy.submit(site.url(0, "/page/1000"), priority=1)
        await curtsy.ended(high)
        assert place(site, "/page/1000") < 50


async def test_two_jobs_on_one_source_take_turns(curtsy: Engine, site: PracticeSite) -> None:
    async with curtsy.worker(settings(Policy(min_delay=20))):
        await curtsy.submit(*(site.url(0, f"/page/{n}") for n in range(800)))
        await started(site, 10)
        small = await curtsy.submit(*(site.url(0, f"/page/{n}") for n in range(1000, 1005)))
        await curtsy.ended(small)
        assert max(place(site, f"/page/{n}") for n in range(1000, 1005)) < 400


async def test_only_the_failures_are_tried_again(curtsy: Engine, site: PracticeSite) -> None:
    policy = Policy(min_delay=0, max_retries=0, retry_base=20)
    async with curtsy.worker(settings(policy)):
        job = await curtsy.submit(site.url(0, "/flaky/1/1"), site.url(0, "/page/1"))
        first = await curtsy.ended(job)
        assert (first.state, first.done, first.failed) == ("failed", 1, 1)
        await curtsy.store.write(lambda c: retry_failures(c, job, now=curtsy.clock.now()))
        second = await curtsy.ended(job)
    assert (second.state, second.done, second.failed, second.round) == ("succeeded", 2, 0, 2)
    names = [event.name for event in await curtsy.events(job)]
    assert names.count("job_finished") == 2
    assert len(site.entries()) == 3
    assert {r.state for r in await curtsy.query("SELECT state FROM dead_letters")} == {"retried"}


async def test_a_worker_that_stops_finishes_what_is_open_and_gives_everything_back(
    curtsy: Engine,
) -> None:
    let_go = asyncio.Event()
    async with Servers({"host": Script(held=[when_let_go(let_go)])}) as servers:
        await stopped_with_one_open(curtsy, servers, let_go)


async def stopped_with_one_open(curtsy: Engine, servers: Servers, let_go: asyncio.Event) -> None:
    async with curtsy.worker(settings(drain_seconds=60)):
        job = await curtsy.submit(servers.url("host", "/held"), servers.url("host", "/page/2"))

        async def is_open() -> bool:
            return servers.requests["host"] == 1

        await until(is_open, 30, lambda: "no request came")
        asyncio.get_running_loop().call_later(0.3, let_go.set)
    row = await curtsy.job(job)
    assert (row.state, row.done) == ("running", 1)
    [source] = await curtsy.query("SELECT owner, ready_at, crash_streak FROM sources")
    assert source.owner is None
    assert source.ready_at is not None
    assert source.crash_streak == 0
    assert await curtsy.query("SELECT * FROM workers") == []
    async with curtsy.worker():
        assert (await curtsy.ended(job)).done == 2
