"""The last hours in figures: the counts are those of the attempts of a real run."""

from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from api.front import Front, assert_problem
from curtsy.history.steps import HistorySteps


async def answer(asked: Counter[str], request: web.Request) -> web.Response:
    """One page that changes never, one that is gone, one that fails twice, one that moved."""
    asked[request.path] += 1
    match request.path:
        case "/good" if request.headers.get("If-None-Match"):
            return web.Response(status=304)
        case "/moved":
            return web.Response(status=302, headers={"Location": "/good?from=moved"})
        case "/unsteady" if asked[request.path] <= 2:
            return web.Response(status=500)
        case "/gone":
            return web.Response(status=410)
    return web.Response(text="a page", headers={"ETag": '"1"'})


@pytest.fixture
async def url() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path:.*}", partial(answer, Counter()))
    async with TestServer(app) as server:
        yield str(server.make_url("/"))


async def counted(door: Front, **query: Any) -> Any:
    await HistorySteps(store=door.engine.store, clock=door.engine.clock).fold_all()
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    found = await door.get(f"/stats?{asked}")
    assert found.status == 200, found
    return found.json


async def test_an_idle_system_has_no_figures(door: Front) -> None:
    found = await counted(door)
    assert (found["requests"], found["success_rate"], found["fetch_ms"]) == (0, None, None)
    assert (found["asked_hours"], found["since"]) == (24, found["until"]), "nothing is covered yet"
    assert found["sources"]["busiest"] == found["sites"] == found["series"]["points"] == []


async def test_the_figures_are_those_of_the_attempts(working: Front, url: str) -> None:
    for pages in (("good", "gone", "unsteady", "moved"), ("good",)):
        jobs = [(await working.submit(url + page)).json["id"] for page in pages]
        for job in jobs:
            await working.ended(job)
    found = await counted(working, hours=1)
    attempts = await working.engine.query("SELECT outcome, kind FROM attempts")
    outcomes = {name: number for name, number in found["attempts"].items() if number}
    assert outcomes == Counter(row.outcome for row in attempts)
    assert outcomes == {"fetched": 3, "not_modified": 1, "moved": 1, "failed": 3}
    assert found["failures_by_kind"] == Counter(row.kind for row in attempts if row.kind)
    assert found["requests"] == found["fetch_ms"]["number"] == len(attempts)
    assert (found["succeeded"], found["failed"], found["success_rate"]) == (4, 1, 0.8)
    assert (found["retries_by_kind"], found["retries"]) == ({"server_error": 2}, 2)
    assert (found["given_up_by_kind"], found["new_dead_letters"]) == ({"gone": 1}, 1)
    assert [(group["kind"], group["open"]) for group in found["dead_letters"]] == [("gone", 1)]


async def test_every_part_has_the_same_counts(working: Front, url: str) -> None:
    for page in ("good", "gone"):
        await working.ended((await working.submit(url + page, priority=1)).json["id"])
    found = await counted(working, hours=3, points=10)
    points = found["series"]["points"]
    assert sum(point["requests"] for point in points) == found["requests"] == 2
    assert len(points) <= 10
    [source] = found["sources"]["busiest"]
    assert source == found["sources"]["failing"][0]
    assert {n: source[n] for n in ("requests", "succeeded", "failed")} == {
        "requests": 2, "succeeded": 1, "failed": 1,
    }  # fmt: skip
    assert {name: band["requests"] for name, band in found["bands"].items()} == {"high": 2}
    assert found["queue"]["bands"]["high"]["waiting"] == 0
    [worker] = found["workers"]
    assert worker["in_flight"] == 0


async def test_the_runs_of_a_site_are_counted(door: Front) -> None:
    spec = {"search_url": "http://a.example/", "recipe": {"record": "li", "fields": {"a": "a"}}}
    assert (await door.ask("PUT", "/sites/shop", json=spec)).status == 201
    for number, state in enumerate(("succeeded", "partial", "failed", "running"), 1):
        now = door.engine.clock.now()
        await door.engine.execute(
            """
            INSERT INTO jobs (public_id, door, scraper, state, total, done, failed, site_id,
                              created_at, started_at, finished_at, updated_at)
            SELECT :id, 'runs', 'raw', :state, 4, 3, 1, id, :now, :now, :ended, :now FROM sites
            """,
            id=f"job_{number}", state=state, now=now, ended=None if number == 4 else now + 2_000,
        )  # fmt: skip
    [site] = (await counted(door, hours=1))["sites"]
    assert {name: site[name] for name in ("site", "runs", "succeeded", "partial", "failed")} == {
        "site": "shop", "runs": 4, "succeeded": 1, "partial": 1, "failed": 1,
    }  # fmt: skip
    assert (site["pages"], site["failed_pages"], site["success_rate"]) == (12, 4, 0.75)
    assert (site["mean_seconds"], site["longest_seconds"]) == (2, 2)


@pytest.mark.parametrize("query", ["hours=0", "hours=8761", "hours=x", "points=0", "points=501",
                                   "limit=101", "days=1"])  # fmt: skip
async def test_what_is_out_of_bounds_is_refused(plain_door: Front, query: str) -> None:
    assert_problem(await plain_door.get(f"/stats?{query}"), 422, "bad_request")


async def test_the_use_of_an_hourly_limit_is_shown(door: Front) -> None:
    said = {"hosts": ["a.example"], "requests_per_hour": 40}
    assert (await door.ask("PUT", "/sources/ours", json=said)).status == 201
    found = await counted(door)
    assert found["limits"] == [{"source": "ours", "limit": 40, "used": 0, "utilisation": 0.0}]
