"""The Python client against a real server, in both its faces."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from api.conftest import Site, site  # noqa: F401
from api.front import Front, front
from curtsy import AsyncClient, Client
from curtsy.client import Declined, Job, NotInTime, Unanswered
from curtsy.clock import Clock
from curtsy.store import Store
from support.engine import engine
from support.wire import wire

STORY = b"<html><title>A story</title><body><article>" + b"<p>Once upon a time. </p>" * 20
HTML = "text/html"


@pytest.fixture
async def working(store: Store, clock: Clock) -> AsyncIterator[Front]:
    whole = engine(store, clock)
    async with front(store, whole) as opened, whole.worker():
        yield opened


async def in_thread(work: Callable[[], Any]) -> Any:
    return await asyncio.to_thread(work)


async def test_a_batch_is_submitted_waited_for_and_read(
    working: Front,
    site: Site,  # noqa: F811
) -> None:
    urls = [site.has(f"/{n}", STORY, HTML) for n in range(3)]
    gone = {"url": site.fails("/gone", 410), "source": "Paper"}
    seen: list[tuple[int, int]] = []
    async with AsyncClient(working.url) as client:
        job = await client.submit([*urls, gone], name="stories", tags=["t"])
        status = await job.wait(20, progress=lambda s: seen.append((s.completed, s.failed)))
        found = [one async for one in job.results()]
        listed = [one["job_id"] async for one in client.jobs(tag="t")]
    assert (status.state, status.completed, status.failed, status.total) == ("partial", 3, 1, 4)
    assert seen[-1] == (3, 1)
    assert sorted(one["url"] for one in found if "error" not in one) == sorted(urls)
    assert [(one["source"], one["kind"]) for one in found if "error" in one] == [("Paper", "gone")]
    assert listed == [job.id]


async def test_the_same_without_an_event_loop(
    working: Front,
    site: Site,  # noqa: F811
) -> None:
    url = site.has("/story", STORY, HTML)

    def program() -> tuple[Job, list[Any], list[Any]]:
        with Client(working.url) as client:
            job = client.submit([url])
            found = job.get(timeout=20)
            told = list(job.events())
            assert job.status.is_over
            return job, found, told

    job, found, told = await in_thread(program)
    assert [one["title"] for one in found] == ["A story"]
    assert [one["event"] for one in told][-1] == "job_finished"
    assert repr(job) == f"Job({job.id!r})"


async def test_a_crawl_and_a_fetch(
    working: Front,
    site: Site,  # noqa: F811
) -> None:
    start = site.has("/", STORY + b'<a href="/next">on</a>', HTML)
    site.has("/next", STORY, HTML)
    async with AsyncClient(working.url) as client:
        crawl = await client.crawl([start], depth=1, max_pages=10)
        assert len(await crawl.get(20)) == 2
        fetch = await client.fetch(start)
        assert (await fetch.wait(20)).state == "succeeded"


async def test_events_go_on_where_they_were_cut(
    working: Front,
    site: Site,  # noqa: F811
) -> None:
    urls = [site.has(f"/{n}", STORY, HTML) for n in range(8)]
    async with wire(working.url) as line, AsyncClient(line.url) as client:
        job = await client.submit(urls)
        seen = []
        async for told in job.events():
            seen.append(told["seq"])
            if len(seen) in (3, 7):
                line.cut()
        assert line.cuts == 2
    assert seen == list(range(1, 12))


async def test_what_goes_wrong_is_an_error_with_a_sentence(working: Front) -> None:
    async with AsyncClient(working.url) as client:
        with pytest.raises(Declined, match="job_000000000000") as unknown:
            await client.job("job_000000000000").status()
        assert unknown.value.status == 404
        with pytest.raises(Declined, match="not built"):
            await client.scrape_source("advisories", search_term="visa")
        with pytest.raises(Declined) as gone:
            await anext(client.job("job_000000000000").events())
        assert gone.value.status == 4404
        job = await client.submit(["http://nobody.invalid/"])
        await job.pause()
        with pytest.raises(NotInTime, match=r"within 0\.2 seconds"):
            await job.wait(0.2)
        assert "cancelled" in await job.cancel()
    async with AsyncClient("http://127.0.0.1:9") as nowhere:
        with pytest.raises(Unanswered):
            await nowhere.submit(["http://a.example/"])
