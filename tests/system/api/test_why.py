"""Why it waits, what it would come to, what a site had of us: through the doors."""

import re
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from api.conftest import Site
from api.front import Front, assert_problem, front
from api.visitors import MovableClock, visitor
from curtsy.cli.views.sources import state_text
from curtsy.clock import HOUR, SECOND, Clock, rfc3339
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.model.failure_kinds import Kind
from curtsy.politeness.policy import Policy
from curtsy.store import Store
from support.engine import engine, settings, until
from support.frontier import ScriptedWorker, failed, fetched

REASONS = Path("docs/reference/reasons.md").read_text()
UNHURRIED = Policy(min_delay=250)


@pytest.fixture
async def unhurried(store: Store, clock: Clock) -> AsyncIterator[Front]:
    """The API on either engine, with a worker that takes its time."""
    whole = engine(store, clock)
    async with front(store, whole) as opened, whole.worker(settings(UNHURRIED)):
        opened.backend.policy = replace(UNHURRIED, robots=False)
        yield opened


async def submitted(door: Front, urls: list[str], **more: object) -> str:
    articles = [{"url": url} for url in urls]
    answer = await door.ask("POST", "/jobs/submit", json={"articles": articles} | more)
    assert answer.status == 201, answer
    return str(answer.json["job_id"])


async def test_a_job_without_a_worker_says_so(plain_door: Front) -> None:
    job = await submitted(plain_door, ["http://one.com/1", "http://two.com/1"])
    why = (await plain_door.get(f"/jobs/{job}/why")).json
    assert [reason["code"] for reason in why["reasons"]] == ["no_worker"]
    assert {source["source"] for source in why["sources"]} == {"one.com", "two.com"}
    assert why["eta"] is None
    assert why["ledger"].keys() == {"capacity", "politeness", "closed_hours", "backoff", "fetching"}
    assert "eta" not in (await plain_door.get(f"/jobs/{job}/status")).json
    assert_problem(await plain_door.get("/jobs/job_0/why"), 404, "not_found")
    assert_problem(await plain_door.get("/pages/art_0/why"), 404, "not_found")
    assert_problem(await plain_door.get("/sources/nobody.org/why"), 404, "not_found")
    source = (await plain_door.get("/sources/one.com/why")).json
    assert (source["state"], source["ahead"]) == ("waiting", 1)


async def test_a_dry_run_submits_nothing(plain_door: Front) -> None:
    later = rfc3339(plain_door.engine.clock.now() + HOUR)
    articles = [{"url": f"http://one.com/{n}"} for n in range(9)]
    asked: dict[str, Any] = {"articles": articles, "finish_by": later}
    plan = (await plain_door.ask("POST", "/jobs/submit", json=asked | {"dry_run": True})).json
    assert (plan["total"], plan["new"], plan["in_time"]) == (9, 9, True)
    assert [(s["source"], s["pages"]) for s in plan["sources"]] == [("one.com", 9)]
    assert [reason["code"] for reason in plan["reasons"]] == ["no_worker"]
    assert plan["assumes_worker"], "nobody would fetch it before"
    asked["articles"].append({"url": "http://10.1.2.3/"})
    plan = (await plain_door.ask("POST", "/jobs/submit", json=asked | {"dry_run": True})).json
    assert (plan["total"], plan["new"], plan["refused_by_guard"]) == (10, 9, 1)
    assert plan["refused_urls"] == ["http://10.1.2.3/"]
    crawl = {"spider": "raw", "start_urls": ["http://one.com/"], "depth": 1, "dry_run": True}
    assert (await plain_door.ask("POST", "/crawl", json=crawl)).json["total"] == 1
    assert (await plain_door.get("/jobs")).json["total"] == 0
    job = await submitted(plain_door, ["http://one.com/1"], finish_by=later)
    assert (await plain_door.get(f"/jobs/{job}/status")).json["finish_by"] == later


def instant(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


async def test_the_status_tells_when_the_job_will_end(unhurried: Front, site: Site) -> None:
    pages = [site.has(f"/{n}", b"<p>Hello", "text/html") for n in range(24)]
    job = await submitted(unhurried, pages)

    status: dict[str, Any] = {}

    async def is_told() -> bool:
        nonlocal status
        status = (await unhurried.get(f"/jobs/{job}/status")).json
        return status["state"] == "running" and "eta" in status

    await until(is_told, 10, lambda: f"it does not start, or nobody can tell: {status}")
    asked_at, eta = time.time(), status["eta"]
    why = (await unhurried.get(f"/jobs/{job}/why")).json
    row = await unhurried.engine.ended(job, 30)
    took = row.finished_at / 1000 - asked_at
    for said in (eta, why["eta"]):
        assert 0.2 < (instant(said) - asked_at) / took < 1.5, "a busy machine takes longer"
    assert "eta" not in (await unhurried.get(f"/jobs/{job}/status")).json
    why = (await unhurried.get(f"/jobs/{job}/why")).json
    assert [reason["code"] for reason in why["reasons"]] == ["ended"]
    tries = await unhurried.engine.query("SELECT started_at, ended_at FROM attempts")
    waited = sum(one.started_at - row.created_at for one in tries) / HOUR
    assert sum(why["ledger"].values()) - why["ledger"]["fetching"] == pytest.approx(waited, 0.1)
    assert why["ledger"]["politeness"] > 0.2 * waited, "most waited for those before them"


@pytest.mark.usefixtures("one_day")
async def test_a_site_can_be_shown_what_it_had_of_us(unhurried: Front, site: Site) -> None:
    pages = [site.has(f"/{n}", b"Hello", "text/plain") for n in range(4)]
    jobs = [(await unhurried.submit(page)).json["id"] for page in pages]
    for job in jobs:
        await unhurried.engine.ended(job)
    name = site.url.removeprefix("http://")
    answer = (await unhurried.get(f"/sources/{name}/receipt")).json
    assert answer["promised_gap_seconds"] == 0.25
    [today] = answer["days"]
    assert today["requests"] == answer["total"]["requests"] == 4
    assert today["smallest_gap_seconds"] >= 0.25
    assert today["bytes"] == 4 * len(b"Hello")
    async with unhurried.session.get(
        f"{unhurried.url}/sources/{name}/receipt", headers={"Accept": "text/html"}
    ) as page:
        text = await page.text()
    assert page.headers["content-type"].startswith("text/html")
    assert "Courtesy receipt" in text
    assert name in text
    assert "<script" not in text
    assert (await unhurried.get("/sources/nobody.org/receipt")).status == 404


async def test_nobody_learns_what_others_ask_for(plain_door: Front) -> None:
    ann, bob = await visitor(plain_door, "ann"), await visitor(plain_door, "bob")
    await ann.job("http://one.com/secret-of-ann")
    job = await bob.job("http://one.com/1")
    later = plain_door.engine.clock.now() + HOUR
    await plain_door.engine.execute(
        "UPDATE sources SET paused = true, paused_by = 'carol', next_fetch_at = :later, "
        "pace = :pace, paced_at = :later, fail_streak = 1, owner = 'w_gone'",
        later=later,
        pace='{"rest":0,"why":{"announced":true,"kind":"rate_limited","status":429,'
        '"url":"http://one.com/secret-of-ann"}}',
    )
    why = await bob.get(f"/jobs/{job}/why")
    [source] = why.json["sources"]
    assert {"source_paused", "retry_after"} <= {reason["code"] for reason in source["reasons"]}
    assert "secret-of-ann" not in str(why.json)
    assert "carol" not in str(why.json)


async def test_a_predicted_end_never_lies_in_the_past(
    guarded: Front, movable: MovableClock, store: Store
) -> None:
    """Whenever the last status was asked for, and whatever was retried since."""
    job = await submitted(guarded, ["http://one.com/1"])
    worker = ScriptedWorker(store, movable.now, "w1")
    for _ in range(3):
        await worker.register()
        status = (await guarded.get(f"/jobs/{job}/status")).json
        assert status["eta"] >= rfc3339(movable.now() - 10 * SECOND), "a busy machine takes longer"
        movable.advance(HOUR)
    [visit] = await worker.lease_and_take()
    await worker.flush(failed(visit, Kind.TIMEOUT, at=movable.now()))
    movable.advance(HOUR)
    await worker.register()
    duties = MaintenanceTasks(store=store, clock=movable, keep_days=30).by_name()
    await duties["dead_letters"]()
    status = (await guarded.get(f"/jobs/{job}/status")).json
    assert status["eta"] >= rfc3339(movable.now() - 10 * SECOND)


async def test_a_source_that_may_not_start_says_what_it_waits_for(
    guarded: Front, movable: MovableClock, store: Store
) -> None:
    await submitted(guarded, ["http://one.com/1", "http://one.com/2"])
    worker = await ScriptedWorker(store, movable.now, "w1").register()
    [visit, *_others] = await worker.lease_and_take()
    now = movable.now()
    batch = worker.batch(fetched(visit, at=now))
    [source_id] = batch.reports
    batch.reports[source_id] = worker.report(
        source_id, paced_at=now, next_fetch_at=now + HOUR, pace='{"rest":0}'
    )
    await worker.flush_batch(batch)
    guarded.backend.policy = replace(UNHURRIED, min_delay=HOUR)
    found = (await guarded.get("/sources/one.com")).json
    assert (found["next_start_at"], found["waits_for"]) == (rfc3339(now + HOUR), "delay")
    assert state_text(found) == "waits for its delay"
    movable.advance(2 * HOUR)
    found = (await guarded.get("/sources/one.com")).json
    assert (found["next_start_at"], found["waits_for"]) == (None, None)
    assert state_text(found) == "ready"


def test_every_reason_is_explained() -> None:
    room = Path("src/curtsy/explain")
    code = (room / "blockers.py").read_text() + (room / "why.py").read_text()
    said = set(re.findall(r'Blocker\(\s*"([a-z_]+)"', code))
    assert said == set(re.findall(r"^\| `([a-z_]+)` \|", REASONS, re.MULTILINE))
