"""The Python client against a real server, in both its faces."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from api.conftest import Site
from api.front import Front, front
from api.visitors import visitor
from curtsy import AsyncClient, Client
from curtsy.client import AsyncJob, Declined, Job, NotInTime, Unanswered
from curtsy.clock import Clock
from curtsy.errors import BadSetting
from curtsy.frontier.clock_sync import synchronise
from curtsy.store import Store
from support.engine import engine, until
from support.patience import PATIENCE, the_api_has_time  # noqa: F401
from support.wire import wire

STORY = b"<html><title>A story</title><body><article>" + b"<p>Once upon a time. </p>" * 20
HTML = "text/html"


async def in_thread(work: Callable[[], Any]) -> Any:
    return await asyncio.to_thread(work)


async def test_a_batch_is_submitted_waited_for_and_read(
    working: Front,
    site: Site,
) -> None:
    urls = [site.has(f"/{n}", STORY, HTML) for n in range(3)]
    gone = {"url": site.fails("/gone", 410), "source": "Paper"}
    seen: list[tuple[int, int]] = []
    async with AsyncClient(working.url) as client:
        plan = await client.plan([*urls, gone])
        job = await client.submit([*urls, gone], name="stories", tags=["t"])
        status = await job.wait(PATIENCE, progress=lambda s: seen.append((s.completed, s.failed)))
        found = [one async for one in job.results()]
        listed = [one["job_id"] async for one in client.jobs(tag="t")]
        why = await job.why()
    assert (plan["total"], plan["new"]) == (4, 4)
    assert [reason["code"] for reason in why["reasons"]] == ["ended"]
    assert (status.state, status.completed, status.failed, status.total) == ("partial", 3, 1, 4)
    assert seen[-1] == (3, 1)
    assert sorted(one["url"] for one in found if "error" not in one) == sorted(urls)
    assert [(one["source"], one["kind"]) for one in found if "error" in one] == [("Paper", "gone")]
    assert listed == [job.id]


async def test_a_single_url_is_one_page_for_both_clients(idle: Front) -> None:
    url = "http://127.0.0.9/one"
    async with AsyncClient(idle.url) as client:
        jobs = [await client.submit(url), await client.crawl(url, tags="alone")]
        plans = [await client.plan(url), await client.plan_crawl(url)]

    def in_turn() -> None:
        with Client(idle.url) as client:
            jobs.extend([client.submit(url), client.crawl(url, depth=1)])  # type: ignore[list-item]
            plans.extend([client.plan(url), client.plan_crawl(url)])
            assert [job.status.total for job in jobs if isinstance(job, Job)] == [1, 1]

    await in_thread(in_turn)
    assert [plan["total"] for plan in plans] == [1, 1, 1, 1]
    async with AsyncClient(idle.url) as client:
        assert [(await client.job(job.id).status()).total for job in jobs] == [1, 1, 1, 1]
        assert [one["job_id"] async for one in client.jobs(tag="alone")] == [jobs[1].id]


async def test_the_same_without_an_event_loop(
    working: Front,
    site: Site,
) -> None:
    url = site.has("/story", STORY, HTML)

    def program() -> tuple[Job, list[Any], list[Any]]:
        with Client(working.url) as client:
            job = client.submit([url])
            found = job.get(timeout=PATIENCE)
            told = list(job.events())
            assert job.status.is_over
            return job, found, told

    job, found, told = await in_thread(program)
    assert [one["title"] for one in found] == ["A story"]
    assert [one["event"] for one in told][-1] == "job_finished"
    assert repr(job) == f"Job({job.id!r})"


async def test_a_crawl_and_a_fetch(
    working: Front,
    site: Site,
) -> None:
    start = site.has("/", STORY + b'<a href="/next">on</a>', HTML)
    site.has("/next", STORY, HTML)
    async with AsyncClient(working.url) as client:
        crawl = await client.crawl([start], depth=1, max_pages=10, name="all", tags=["news"])
        assert len(await crawl.get(PATIENCE)) == 2
        said = (await crawl.status()).body
        assert (said["name"], said["tags"]) == ("all", ["news"])
        plan = await client.plan_crawl([start], ignore_cache=True)
        assert (plan["total"], plan["new"]) == (1, 1)
        later = datetime.now(UTC) + timedelta(days=2)
        scheduled = await client.crawl([start], schedule_at=later, webhook_url=start)
        assert (await scheduled.status()).state == "scheduled"
        with pytest.raises(TypeError, match="plan_crawl"):
            await client.crawl([start], dry_run=True)
        fetch = await client.fetch(start)
        assert (await fetch.wait(PATIENCE)).state == "succeeded"


async def test_events_go_on_where_they_were_cut(
    working: Front,
    site: Site,
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


async def test_what_goes_wrong_is_an_error_with_a_sentence(idle: Front) -> None:
    async with AsyncClient(idle.url) as client:
        with pytest.raises(Declined, match="job_000000000000") as unknown:
            await client.job("job_000000000000").status()
        assert unknown.value.status == 404
        with pytest.raises(Declined, match="no site 'advisories'"):
            await client.scrape_source("advisories", search_term="visa")
        with pytest.raises(Declined) as gone:
            await anext(client.job("job_000000000000").events())
        assert gone.value.status == 404
        job = await client.submit(["http://nobody.invalid/"])
        await job.pause()
        with pytest.raises(NotInTime, match=r"within 0\.2 seconds"):
            await job.wait(0.2)
        assert "cancelled" in await job.cancel()
    async with AsyncClient("http://127.0.0.1:9") as nowhere:
        with pytest.raises(Unanswered):
            await nowhere.submit(["http://a.example/"])


async def is_cancelled(job: AsyncJob) -> bool:
    with suppress(Declined):
        await job.cancel()
        return True
    return False


async def test_a_wait_outlasts_a_store_that_is_away(postgres_url: str) -> None:
    clock = Clock()
    async with Store(postgres_url) as store:
        await synchronise(store, clock)
        async with front(store, engine(store, clock)) as opened:
            await outlasts(opened, postgres_url)


async def outlasts(door: Front, database_url: str) -> None:
    async with AsyncClient(door.url) as client:
        job = await client.fetch("http://nobody.invalid/")
        hanging = await asyncpg.connect(database_url)
        await hanging.execute("BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        door.backend.timed.answer_within = 0.5
        waiting = asyncio.create_task(job.wait(60))
        with pytest.raises(Declined) as declined:
            await job.status()
        assert declined.value.store_is_away
        await hanging.close()
        door.backend.timed.answer_within = PATIENCE
        await until(lambda: is_cancelled(job), 10, lambda: "the API has not recovered")
        assert (await waiting).state == "cancelled"


async def test_the_same_key_is_the_same_job_and_what_is_wrong_is_told_in_full(idle: Front) -> None:
    page = "http://nobody.invalid/"
    async with AsyncClient(idle.url) as client:
        first = await client.submit([page], idempotency_key="k")
        assert (await client.submit([page], idempotency_key="k")).id == first.id
        assert (await client.fetch(page, idempotency_key="f")).id != first.id
        with pytest.raises(Declined) as wrong:
            await client.submit([{"url": page, "priority": 11}, {"urls": page}])
        assert wrong.value.status == 422
        assert {tuple(e["loc"][1:3]) for e in wrong.value.errors} == {
            ("articles", 0), ("articles", 1),
        }  # fmt: skip
        with pytest.raises(Declined) as later:
            await client.ask("GET", f"/jobs/{first.id}/export")
        assert (later.value.status, later.value.part) == (501, "export")
        assert await first.purge()
        with pytest.raises(Declined) as gone:
            await first.status()
        assert gone.value.status == 404


async def test_a_quota_says_when_to_ask_again(idle: Front) -> None:
    ann = await visitor(idle, pages_per_hour=1)
    async with AsyncClient(idle.url, key=ann.key) as client:
        await client.fetch("http://nobody.invalid/")
        with pytest.raises(Declined) as refused:
            await client.fetch("http://nobody.invalid/2")
    assert refused.value.status == 429
    assert 1 <= (refused.value.retry_after or 0) <= 3600


@pytest.mark.parametrize("spelled", ["{host}", " {host}/ ", "http://{host}", "HTTP://{host}"])
async def test_the_address_and_the_key_are_read_as_the_command_line_reads_them(
    idle: Front, monkeypatch: pytest.MonkeyPatch, spelled: str
) -> None:
    ann = await visitor(idle)
    monkeypatch.setenv("CURTSY_URL", spelled.format(host=idle.url.removeprefix("http://")))
    monkeypatch.setenv("CURTSY_KEY", f"{ann.key}\n")
    async with AsyncClient() as client:
        assert (await client.submit(["http://a.invalid/"])).id
        await client.close()
    with pytest.raises(BadSetting, match="must begin with http"):
        AsyncClient("ftp://a.example")
    with pytest.raises(BadSetting, match="is not a URL"):
        AsyncClient("http://a.example:port")


@pytest.mark.parametrize("face", [Client, AsyncClient])
@pytest.mark.parametrize("key", ["curtsy_1_se\ncret", "curtsy_1_sécret", "curtsy 1 secret"])
def test_what_is_no_key_is_refused_and_never_said(face: Callable[..., Any], key: str) -> None:
    with pytest.raises(BadSetting, match="is not a key") as refused:
        face("http://127.0.0.1:9", key=key)
    assert "cret" not in str(refused.value)
