"""Orders that reach a running worker, and the order in which it works."""

import asyncio

from curtsy.demo.site import PracticeSite
from curtsy.politeness.policy import Policy
from curtsy.submit import cancel, retry_failures
from support.engine import Engine, settings, until


async def started(site: PracticeSite, number: int) -> None:
    async def fact() -> bool:
        return len(site.entries()) >= number

    await until(fact, 10, lambda: f"only {len(site.entries())} requests came")


async def test_cancel_aborts_what_is_open_within_a_second_or_so(
    curtsy: Engine, site: PracticeSite
) -> None:
    async with curtsy.worker():
        job = await curtsy.submit(site.url(0, "/slow/60000/1"), site.url(0, "/page/2"))
        await started(site, 1)
        removed = await curtsy.store.write(lambda c: cancel(c, job, now=curtsy.clock.now()))

        async def hung_up() -> bool:
            return site.entries()[0].ended_at is not None

        await until(hung_up, 4, lambda: "the request is still open")
    assert removed == 2
    assert (await curtsy.job(job)).state == "cancelled"
    assert len(site.entries()) == 1


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
        await curtsy.tell("UPDATE sources SET paused = true, control_version = control_version + 1")

        async def given_back() -> bool:
            [source] = await curtsy.ask("SELECT owner FROM sources")
            return source.owner is None

        await until(given_back, 5, lambda: "the paused source is still held")
        before = len(site.entries())
        await asyncio.sleep(0.3)  # time in which it would have started several
        assert len(site.entries()) == before
        row = await curtsy.job(job)
        [left] = await curtsy.ask("SELECT count(*) AS n FROM visits")
        assert left.n == 200 - row.done


async def test_a_new_policy_reaches_a_running_lane(curtsy: Engine, site: PracticeSite) -> None:
    async with curtsy.worker(settings(Policy(min_delay=1500))):
        job = await curtsy.submit(*(site.url(0, f"/page/{n}") for n in range(30)))
        await started(site, 1)
        await curtsy.tell(
            "UPDATE sources SET policy = :policy, control_version = control_version + 1",
            policy='{"min_delay": 5}',
        )
        assert (await curtsy.ended(job, 12)).done == 30


async def test_a_better_priority_goes_first_although_it_came_later(
    curtsy: Engine, site: PracticeSite
) -> None:
    async with curtsy.worker(settings(Policy(min_delay=100))):
        low = await curtsy.submit(*(site.url(0, f"/page/{n}") for n in range(40)), priority=9)
        await started(site, 3)
        high = await curtsy.submit(site.url(0, "/page/1000"), priority=1)
        await curtsy.ended(high, 5)
        assert (await curtsy.job(low)).done < 20


async def test_two_jobs_on_one_source_take_turns(curtsy: Engine, site: PracticeSite) -> None:
    async with curtsy.worker(settings(Policy(min_delay=20))):
        large = await curtsy.submit(*(site.url(0, f"/page/{n}") for n in range(300)))
        await started(site, 10)
        small = await curtsy.submit(*(site.url(0, f"/page/{n}") for n in range(1000, 1005)))
        await curtsy.ended(small, 10)
        assert (await curtsy.job(large)).done < 150


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
    assert {r.state for r in await curtsy.ask("SELECT state FROM dead_letters")} == {"retried"}


async def test_a_worker_that_stops_finishes_what_is_open_and_gives_everything_back(
    curtsy: Engine, site: PracticeSite
) -> None:
    async with curtsy.worker():
        job = await curtsy.submit(site.url(0, "/slow/700/1"), site.url(0, "/page/2"))
        await started(site, 1)
    row = await curtsy.job(job)
    assert (row.state, row.done) == ("running", 1)
    [source] = await curtsy.ask("SELECT owner, ready_at, crash_streak FROM sources")
    assert source.owner is None
    assert source.ready_at is not None
    assert source.crash_streak == 0
    assert await curtsy.ask("SELECT * FROM workers") == []
    async with curtsy.worker():
        assert (await curtsy.ended(job)).done == 2
