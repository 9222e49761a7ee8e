"""Following a job from Python: to its real end, past restarts, and with a word when one may not."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from api.conftest import Site
from api.front import Front, front
from api.visitors import visitor
from client.test_client import HTML, STORY, in_thread
from curtsy import AsyncClient, Client
from curtsy.api.auth.access_rules import AccessRules
from curtsy.client import AsyncJob, Declined, NotInTime, Unanswered, retries
from curtsy.clock import Clock
from curtsy.store import Store
from support.engine import engine, until
from support.wire import Wire, wire

LONG = 60


async def heard(job: AsyncJob, after: int = 0) -> list[dict[str, Any]]:
    return [told async for told in job.events(after, timeout=LONG)]


async def test_a_job_whose_failures_were_tried_again_is_told_to_its_last_end(
    working: Front, site: Site
) -> None:
    url = site.fails("/a", 410)
    async with AsyncClient(working.url) as client:
        job = await client.submit([url])
        await job.wait(LONG)
        site.has("/a", STORY, HTML)
        await job.retry()
        await job.wait(LONG)
        told = await heard(job)
        ends = [one["seq"] for one in told if one["event"] == "job_finished"]
        assert [one["seq"] for one in told] == list(range(1, ends[1] + 1))
        assert told[-1]["state"] == "succeeded"
        assert await heard(job, ends[0]) == told[ends[0] :]
        assert await heard(job, ends[1]) == [], "there is nothing to wait for"


async def test_one_that_ends_while_it_is_followed_ends_its_events(idle: Front) -> None:
    async with AsyncClient(idle.url) as client:
        job = await client.submit(["http://a.invalid/", "http://b.invalid/"])
        async with aclosing(job.events(timeout=LONG)) as events:
            assert (await anext(events))["event"] == "job_queued"
            await job.cancel()
            assert [told["event"] async for told in events] == ["job_cancelled", "job_finished"]


async def test_a_wrong_key_is_told_at_once(store: Store, clock: Clock) -> None:
    closed = AccessRules(is_private=False)
    async with front(store, engine(store, clock), access_rules=closed) as door:
        ann = await visitor(door)
        job = await ann.job("http://a.invalid/")
        for key, status in (("curtsy_0_0", 401), ((await visitor(door, "bob")).key, 404)):
            async with AsyncClient(door.url, key=key) as client:
                with pytest.raises(Declined) as refused:
                    await heard(client.job(job))
                assert refused.value.status == status
                assert str(refused.value)


async def test_who_was_never_answered_does_not_wait_for_ever() -> None:
    async with AsyncClient("http://127.0.0.1:9") as nowhere:
        for waiting in (nowhere.job("job_1").wait(), anext(nowhere.job("job_1").events()),
                        anext(nowhere.job("job_1").logs()), anext(nowhere.events())):  # fmt: skip
            with pytest.raises(Unanswered):
                await waiting
        with pytest.raises(NotInTime):
            await nowhere.job("job_1").wait(0.3)
        with pytest.raises(NotInTime):
            await anext(nowhere.job("job_1").events(timeout=0.3))


async def away(line: Wire) -> None:
    """Longer than it takes to lose patience with one who was never there."""
    line.is_down = True
    line.cut()
    await until(lambda: _refused(line, 4), LONG, lambda: "nobody comes back")
    line.is_down = False


async def _refused(line: Wire, times: int) -> bool:
    return line.refused >= times


async def test_a_server_that_starts_again_is_waited_for(
    idle: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "LONGEST_PAUSE", 0.2)
    async with wire(idle.url) as line, AsyncClient(line.url) as client:
        job = await client.submit(["http://a.invalid/"])
        seen: list[str] = []

        async def listen() -> None:
            seen.extend([told["event"] async for told in job.events()])

        async def read() -> list[str]:
            return [one["msg"] async for one in job.logs(follow=True)]

        everything = asyncio.gather(job.wait(), job.get(), listen(), read())
        await until(lambda: _follows(idle, 1), LONG, lambda: "nobody listens")
        await away(line)
        await idle.backend.cancel(job.id)
        async with asyncio.timeout(LONG):
            status, found, _none, lines = await everything
    assert (status.state, len(found)) == ("cancelled", 1)
    assert seen == ["job_queued", "job_cancelled", "job_finished"]
    assert lines[-1].startswith("Done: cancelled")


async def _follows(door: Front, number: int) -> bool:
    return door.backend.feed.followers >= number


async def test_all_events_are_followed_past_a_cut(idle: Front) -> None:
    async with wire(idle.url) as line, AsyncClient(line.url) as client:
        async with aclosing(client.events()) as events:
            first = asyncio.create_task(anext(events))
            await until(lambda: _follows(idle, 1), LONG, lambda: "nobody listens")
            job = await client.submit(["http://a.invalid/"])
            told = [await first]
            line.cut()
            await idle.backend.cancel(job.id)
            told += [await anext(events) for _ in range(2)]
        assert [(one["event"], one["job_id"]) for one in told] == [
            (name, job.id) for name in ("job_queued", "job_cancelled", "job_finished")
        ]
        async with aclosing(client.events(told[0]["seq"])) as again:
            assert [await anext(again) for _ in range(2)] == told[1:]


async def test_a_log_and_events_without_an_event_loop(working: Front, site: Site) -> None:
    url = site.has("/story", STORY, HTML)

    def program() -> tuple[list[str], list[str], str]:
        with Client(working.url) as client:
            job = client.submit([url])
            lines = [line["msg"] for line in job.logs(follow=True)]
            told = [one["event"] for one in job.events(timeout=LONG)]
            place = client.events("0-0")
            assert next(place)["job_id"] == job.id
            return lines, told, job.purge()

    lines, told, purged = await in_thread(program)
    assert (lines[0][:7], lines[-1][:15]) == ("Queued:", "Done: succeeded")
    assert told == ["job_queued", "job_started", "page_fetched", "job_finished"]
    assert purged


async def test_a_stream_that_is_too_quiet_for_the_caller_is_left(idle: Front) -> None:
    def program(job: str) -> None:
        with Client(idle.url) as client, pytest.raises(NotInTime, match=r"within 0\.5 seconds"):
            list(client.job(job).events(timeout=0.5))

    async with AsyncClient(idle.url) as client:
        job = await client.submit(["http://a.invalid/"])
        await in_thread(lambda: program(job.id))
