"""A program of somebody else, read by mypy --strict: it never runs.

Each `assert_type` is a promise about the public types; each `# error: [code]` is a mistake that
mypy finds in that line.
"""

from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_type

import curtsy
from curtsy import Article, AsyncClient, Client, PageFailure, RawPage, RecordRow, Results
from curtsy.client import AsyncJob, Job, Status
from curtsy.client.answers import (
    AlertRule,
    DeadLetter,
    DeadLetterGroup,
    JobWaiting,
    Plan,
    Receipt,
    Report,
    Schedule,
    SchedulerPlan,
    SettledLetters,
    Site,
    SiteRecord,
    Slot,
    Source,
    Stats,
    Waiting,
    Worker,
)
from curtsy.engine import AsyncOpenEngine, OpenEngine


@dataclass
class Product:
    name: str
    price: float


def one_call() -> None:
    found = curtsy.scrape(["http://a.example/"], max_age=60, min_delay_seconds=1)
    assert_type(found, Results)
    assert_type(found.articles, list[Article])
    assert_type(found.failures, list[PageFailure])
    assert_type(found.records(), list[dict[str, Any]])
    assert_type(found.records(Product), list[Product])
    for one in found:
        match one:
            case Article():
                assert_type(one.title, str | None)
                assert_type(one.scraped_at, datetime)
                assert_type(one.authors, tuple[str, ...])
                assert_type(one.published_at, str | None)
                assert_type(one.paywall, bool)
            case RecordRow():
                assert_type(one.record_key, str | None)
                assert_type(one.found_at, str | None)
            case RawPage():
                assert_type(one.body, bytes)
            case PageFailure():
                assert_type(one.error, str)
    curtsy.scrape(5)  # error: [arg-type]
    print(found.articles[0].titel)  # error: [attr-defined]


def an_engine() -> None:
    with curtsy.Engine("a.db", scrapers=["own.py"], worker_slots=4) as engine:
        assert_type(engine, OpenEngine)
        assert_type(engine.submit("http://a.example/"), Job)
        assert_type(engine.client.sources.get("a"), Source)
        for one in engine.scrape("http://a.example/"):
            assert_type(one, Article | RecordRow | RawPage | PageFailure)
    curtsy.Engine(scrapers=[print])  # error: [list-item]
    curtsy.Engine().scrape("http://a.example/")  # error: [attr-defined]


def jobs(client: Client) -> None:
    job = client.submit([{"url": "http://a.example/", "priority": 1}], tags=["a"])
    assert_type(job, Job)
    assert_type(job.status, Status)
    assert_type(job.wait(5, progress=lambda status: print(status.completed)), Status)
    assert_type(job.why(), JobWaiting)
    assert_type(job.cancel(), str)
    assert_type(job.records(), Generator[dict[str, Any]])
    assert_type(job.records(Product), Generator[Product])
    for line in job.logs(follow=True):
        assert_type(line["msg"], str)
    assert_type(client.crawl("http://a.example/", depth=2, max_pages=5, keep=["*/a/*"]), Job)
    assert_type(client.plan("http://a.example/"), Plan)
    assert_type(client.scrape_source("shop", country="fr", priority=9, search_term="x"), Job)
    for listed in client.jobs(tag="news"):
        assert_type(listed.total, int)
    client.submit([{"uri": "http://a.example/"}])  # error: [list-item]
    client.submit("http://a.example/", tag="news")  # error: [call-arg]
    client.crawl("http://a.example/", scope="everything")  # error: [arg-type]
    client.jobs(state="running")  # error: [call-arg]
    job.wait("5")  # error: [arg-type]


def everything_else(client: Client) -> None:
    schedule = client.schedules.add(
        name="news", cron="@daily", payload={"crawl": {"spider": "article", "depth": 1}}
    )
    assert_type(schedule, Schedule)
    assert_type(schedule.next_run, datetime | None)
    assert_type(client.schedules.change("news", enabled=False), Schedule)
    assert_type(client.schedules.run("news"), Slot)
    assert_type(client.schedules.runs("news"), Generator[Slot])
    assert_type(client.schedules.preview(hours=2), SchedulerPlan)
    for source in client.sources.list(described=True):
        assert_type(source.policy.min_delay_seconds, float | None)
    assert_type(client.sources.set("a", requests_per_hour=60, hosts=["a.example"]), Source)
    assert_type(client.sources.receipt("a", days=7), Receipt)
    assert_type(client.sources.why("a"), Waiting)
    assert_type(client.sites.list(), tuple[Site, ...])
    assert_type(client.sites.records("shop"), Generator[SiteRecord])
    assert_type(client.dead_letters.list(kind="gone"), Generator[DeadLetter])
    assert_type(client.dead_letters.groups(), tuple[DeadLetterGroup, ...])
    assert_type(client.dead_letters.retry_many(all=True, preview=False), SettledLetters)
    assert_type(client.alerts.rules(), tuple[AlertRule, ...])
    assert_type(client.reports.latest(), Report)
    assert_type(client.stats(hours=3), Stats)
    assert_type(client.workers(), tuple[Worker, ...])
    client.schedules.add(name="news", cron="@daily")  # error: [call-arg]
    client.sources.set("a", request_per_hour=60)  # error: [call-arg]
    client.sources.change("a", robots="maybe")  # error: [arg-type]
    client.dead_letters.get("a")  # error: [arg-type]


async def with_a_loop(client: AsyncClient) -> None:
    assert_type(await curtsy.scrape_async("http://a.example/"), Results)
    async with curtsy.Engine() as engine:
        assert_type(engine, AsyncOpenEngine)
        assert_type(await engine.submit("http://a.example/"), AsyncJob)
    job = await client.submit("http://a.example/")
    assert_type(job, AsyncJob)
    assert_type(await job.status(), Status)
    assert_type(await job.wait(), Status)
    assert_type(job.records(Product), AsyncGenerator[Product])
    assert_type(await client.sources.get("a"), Source)
    async for schedule in client.schedules.list():
        assert_type(schedule, Schedule)
    print(client.sources.get("a").hosts)  # error: [attr-defined]
    for source in client.sources.list():  # error: [attr-defined]
        print(source)
