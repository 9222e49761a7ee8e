"""Every operation of the API has a method, and every answer of a real server fits its type."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import httpx
import pytest

from api.conftest import Site
from api.front import Front
from api.real_things import Things, make_things
from curtsy import AsyncClient
from curtsy.client import AnswerNotUnderstood, Article, Declined, PageFailure, RunRecord
from curtsy.client.answer import Answer, read
from curtsy.client.answers import Source, Version
from support.patience import PATIENCE

NOT_COVERED = {
    "POST /session": "cookies are for browsers",
    "DELETE /session": "cookies are for browsers",
    "GET /health/live": "a probe asks for a status only",
    "GET /health/ready": "a probe asks for a status only",
    "GET /events": "`client.events()` reads the same events from the WebSocket",
    "GET /pages/{page_id}/history": "not built yet",
    "GET /pages/{page_id}/diff": "not built yet",
    "GET /jobs/{job_id}/export": "not built yet",
}
OPEN = (Article, RunRecord)
"""A scraper adds fields to these."""


@dataclass
class Recorder:
    """Notes the operations that the client requests, and the answers that it returns."""

    operations: list[str]
    asked: set[str]
    answers: set[str]

    async def note(self, request: httpx.Request) -> None:
        place = f"{request.method} {request.url.raw_path.decode().partition('?')[0]}"
        fitting = [one for one in self.operations if _pattern(one).fullmatch(place)]
        self.asked.add(min(fitting, key=lambda one: one.count("{")))

    def check(self, found: Any) -> None:
        for answer in _answers_in(found):
            unknown = set(answer) - {name.rstrip("_") for name in _names(answer)}
            assert isinstance(answer, OPEN) or unknown == set(), type(answer)
            self.answers.add(type(answer).__name__)


def _pattern(operation: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{[^/]*\\}", "[^/]+", re.escape(operation)))


def _names(answer: Answer) -> Iterator[str]:
    yield from () if isinstance(answer, RunRecord) else (one.name for one in fields(answer))  # type: ignore[arg-type]


def _answers_in(found: Any) -> Iterator[Answer]:
    if isinstance(found, Answer):
        yield found
        for name in _names(found):
            yield from _answers_in(getattr(found, name))
    elif isinstance(found, dict):
        for one in found.values():
            yield from _answers_in(one)
    elif isinstance(found, list | tuple):
        for one in found:
            yield from _answers_in(one)


def operations(openapi: Any) -> list[str]:
    return [f"{method.upper()} {path}" for path, of in openapi["paths"].items() for method in of]


async def all_of(found: Any) -> list[Any]:
    return [one async for one in found]


async def use_jobs(client: AsyncClient, site: Site, things: Things) -> list[Any]:
    url, hook = f"{site.url}/story", f"{site.url}/hook"
    job = await client.submit([url, f"{site.url}/gone"], max_age=0, webhook_url=hook)
    await client.discover(url)
    raw = await client.crawl(url, spider="raw")
    run = await client.scrape_source("shop")
    later = await client.crawl(url, schedule_at="2999-01-01T00:00:00Z")
    found: list[Any] = [await one.get(PATIENCE) for one in (job, raw, run)]
    found += [[result async for result in job.as_they_come()], await run.run()]
    jobs = [client.job(one) for one in things.by_name["job_id"]]
    for one in (job, *jobs):
        found += [(await one.status()).body, await one.details(), await one.why(),
                  await one.performance(), await one.webhooks()]  # fmt: skip
    found += [await all_of(client.jobs()), await all_of(job.logs()), await all_of(job.events())]
    with_hook = jobs[2]
    with pytest.raises(Declined, match="is waiting"):  # nobody delivers here
        await with_hook.replay_webhook((await with_hook.webhooks())[0].id)
    assert await job.retry()
    held = await client.fetch(f"{site.url}/never")
    assert await held.pause()
    assert await held.resume()
    assert await held.cancel()
    assert await later.end_schedule()
    page = found[0][0].article_id
    return [*found, await client.page(page), await client.why_page(page),
            await client.plan(url), await client.plan_crawl(url)]  # fmt: skip


async def use_schedules(client: AsyncClient) -> list[Any]:
    schedules = client.schedules
    added = await schedules.add(
        name="probe", cron="0 3 * * *", payload={"fetch": {"url": "http://a.invalid/"}}
    )
    return [
        added, await schedules.get(added.id), await all_of(schedules.list()),
        await schedules.change(added.id, every_minutes=60, overlap="skip"),
        await schedules.run(added.id, priority=2), await all_of(schedules.runs(added.id)),
        await schedules.pause(added.id), await schedules.resume(added.id),
        await schedules.preview(hours=24), await schedules.status(), await schedules.run_due(),
        await schedules.delete(added.id),
    ]  # fmt: skip


async def use_sources_and_sites(client: AsyncClient) -> list[Any]:
    sources, sites = client.sources, client.sites
    described = await sources.set("probe", hosts=["probe.invalid"], requests_per_hour=60)
    found = [
        described, await sources.get("probe"), await all_of(sources.list(described=True)),
        await sources.change("probe", min_delay_seconds=2.0), await sources.pause("probe"),
        await sources.resume("probe"), await sources.why("probe"),
        await sources.receipt("probe", days=2), await sources.delete("probe"),
        await client.adjust_rate_limits("shop", requests_per_hour=600),
    ]  # fmt: skip
    recipe = {"record": "li", "fields": {"title": "a"}}
    declared = await sites.declare(
        "other", search_url="http://b.invalid/", recipe=recipe, interval_minutes=0
    )
    return [*found, declared, await sites.get("other"), await sites.list(),
            await all_of(sites.runs("shop")), await all_of(sites.records("shop")),
            await sites.delete("other")]  # fmt: skip


async def use_letters_and_alerts(client: AsyncClient) -> list[Any]:
    letters, alerts = client.dead_letters, client.alerts
    letter = (await all_of(letters.list()))[0]
    found = [
        letter, await letters.groups(), await letters.get(letter.id),
        await letters.retry_many(all=True), await letters.resolve_many(kind="gone"),
        await letters.retry(letter.id), await alerts.list(), await alerts.rules(),
        await alerts.rule("limit_use"), await alerts.channels(),
        await alerts.set_rule("limit_use", {"for": 120}), await alerts.mute("limit_use", seconds=9),
        await alerts.unmute("limit_use"), await alerts.delete_rule("limit_use"),
    ]  # fmt: skip
    with pytest.raises(Declined, match=r"resolve|open"):
        await letters.resolve(letter.id)
    with pytest.raises(Declined, match="no_such"):
        await alerts.test("no_such")
    return found


async def use_the_rest(client: AsyncClient) -> list[Any]:
    reports = client.reports
    made = await reports.create(hours=2)
    secret = await client.webhook_secret()
    assert "curtsy" in await client.metrics()
    return [
        made, await reports.latest(), await reports.get(made.id), await all_of(reports.list()),
        secret, await client.rotate_webhook_secret(grace_hours=1), await client.stats(hours=2),
        await client.workers(), await client.queue(), await client.queue_health(),
        await client.health(), await client.version(), await client.whoami(),
        await client.clean_up(days=400), await client.last_cleanup(),
    ]  # fmt: skip


async def test_every_operation_has_a_method_and_every_answer_fits_its_type(
    working: Front, site: Site
) -> None:
    things = await make_things(working, site)
    documented = operations((await working.get("/openapi.json")).json)
    recorder = Recorder(documented, set(), set())
    async with AsyncClient(working.url) as client:
        client._api._http.event_hooks["request"].append(recorder.note)
        recorder.check(await use_jobs(client, site, things))
        recorder.check(await use_schedules(client))
        recorder.check(await use_sources_and_sites(client))
        recorder.check(await use_letters_and_alerts(client))
        recorder.check(await use_the_rest(client))
    assert set(documented) - recorder.asked == NOT_COVERED.keys()
    assert {"Article", "RawPage", "PageFailure", "RunRecord", "Run", "SiteRecord", "Source", "Slot",
            "DeadLetterStory", "Report", "Stats", "Worker", "Plan"} <= recorder.answers  # fmt: skip


async def test_what_a_newer_server_adds_is_kept_and_does_not_hurt(idle: Front) -> None:
    async with AsyncClient(idle.url) as client:
        said = dict(await client.version())
    newer = read(Version, said | {"new_in_2": {"a": 1}})
    assert newer.version == said["version"]
    assert newer["new_in_2"] == {"a": 1}
    with pytest.raises(AnswerNotUnderstood, match=r"Version\.version is 3"):
        read(Version, said | {"version": 3})
    with pytest.raises(AnswerNotUnderstood, match=r"Source\.name is missing"):
        read(Source, {"hosts": []})


async def test_results_tell_what_they_are_and_are_json_as_before(
    working: Front, site: Site
) -> None:
    things = await make_things(working, site)
    async with AsyncClient(working.url) as client:
        both = client.job(things.by_name["job_id"][2])
        article, failure = await both.get(PATIENCE)
        assert isinstance(article, Article)
        assert isinstance(failure, PageFailure)
        assert (article.title, failure.kind) == ("A story", "gone")
        assert article.scraped_at.isoformat().startswith(article["scraped_at"][:19])
        assert [one.url for one in (article, failure)] == [article["url"], failure["url"]]
        run = client.job(things.by_name["run_id"][0])
        assert [one["title"] async for one in run.records()] == ["One", "Two"]
