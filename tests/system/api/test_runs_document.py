"""The runs door as its document describes it: what its engine can do is compared field by field;
what it cannot do yet is named, with the part that will remove it from here."""

import re
from typing import Any

import pytest

from api.conftest import Site
from api.front import Front, assert_problem
from curtsy.api.schemas.runs import Envelope, RunStarted
from support.engine import until

ASYNC_EXAMPLE = {
    "site_name": "indeed",
    "search_term": "python developer",
    "location": "remote",
    "is_remote": True,
    "results_wanted": 50,
}
SYNC_EXAMPLE = {"site_name": "indeed", "search_term": "python developer", "results_wanted": 15}
ANSWER = {
    "status": "success",
    "data": {
        "task_id": "run_a1b2c3d4",
        "run_id": "manual_a1b2c3d4",
        "status": "queued",
        "execution_mode": "async",
    },
}

STARTED = {"task_id", "run_id", "status", "execution_mode"}
AUDITED = {"trigger", "site_schedule_id", "requested_pages", "completed_pages", "errors_count",
           "message", "started_at", "finished_at", "results"}  # fmt: skip


@pytest.mark.parametrize("mode", ["", "?mode=async", "?mode=sync"])
async def test_a_site_that_nobody_declared_is_not_found(plain_door: Front, mode: str) -> None:
    body = SYNC_EXAMPLE if "sync" in mode else ASYNC_EXAMPLE
    answer = await plain_door.ask("POST", f"/jobs/scrape{mode}", json=body)
    assert_problem(answer, 404, "not_found")
    assert (await plain_door.get("/jobs")).json["total"] == 0
    assert (await plain_door.get("/jobs/sites")).json["data"] == {"sites": []}


async def test_the_documents_request_as_written_starts_a_run(plain_door: Front) -> None:
    declared = {"search_url": "https://jobs.example/?q={search_term}&l={location}&r={is_remote}",
                "recipe": {"record": "li", "fields": {"title": "h2"}}}  # fmt: skip
    assert (await plain_door.ask("PUT", "/sites/indeed", json=declared)).status == 201
    answer = await plain_door.ask("POST", "/jobs/scrape", json=ASYNC_EXAMPLE)
    assert (answer.status, answer.json.keys()) == (200, ANSWER.keys())
    assert answer.json["data"].keys() == STARTED
    assert answer.json["data"]["status"] == "queued"
    [page] = await plain_door.engine.query("SELECT url FROM pages")
    assert page.url == "https://jobs.example/?l=remote&q=python+developer&r=true"


async def test_the_documents_run_is_not_there(plain_door: Front) -> None:
    assert_problem(await plain_door.get("/jobs/scrape/manual_a1b2c3d4"), 404, "not_found")


async def test_the_answers_to_come_have_the_documents_fields(plain_door: Front) -> None:
    document = (await plain_door.get("/openapi.json")).json
    schemas = document["components"]["schemas"]
    assert schemas["RunStarted"]["properties"].keys() == STARTED
    assert schemas["Run"]["properties"].keys() == STARTED | AUDITED | {"site_name", "changes"}
    assert schemas["Envelope_RunStarted_"]["properties"].keys() == {"status", "data"}
    asked = schemas["ScrapeRequest"]
    assert asked["properties"].keys() == ASYNC_EXAMPLE.keys() | {
        "country", "priority", "webhook_url",
    }  # fmt: skip
    assert asked["examples"] == [ASYNC_EXAMPLE, SYNC_EXAMPLE]


def test_the_documents_answer_is_one_that_this_door_can_give() -> None:
    """Compared whole: no field of it is lost, none is missing."""
    assert Envelope[RunStarted].model_validate(ANSWER).model_dump() == ANSWER


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"site_name": ""}, "site_name"),
        ({"site_name": ["indeed"]}, "site_name"),
        ({"search_term": ""}, "search_term"),
        ({"is_remote": "yes"}, "is_remote"),
        ({"location": 7}, "location"),
        ({"results_wanted": 0}, "results_wanted"),
        ({"results_wanted": 1_001}, "results_wanted"),
        ({"results_wanted": "50"}, "results_wanted"),
        ({"colour": "red"}, "colour"),
    ],
    ids=str,
)
async def test_a_wrong_request_is_refused_before_anything_else(
    plain_door: Front, change: dict[str, Any], place: str
) -> None:
    answer = await plain_door.ask("POST", "/jobs/scrape", json=ASYNC_EXAMPLE | change)
    assert_problem(answer, 422, "bad_request")
    assert [error["loc"] for error in answer.json["errors"]] == [["body", place]]


async def test_a_sync_run_has_at_most_25_results(plain_door: Front) -> None:
    for wanted, status in ((25, 404), (26, 422)):
        body = SYNC_EXAMPLE | {"results_wanted": wanted}
        answer = await plain_door.ask("POST", "/jobs/scrape?mode=sync", json=body)
        assert answer.status == status
    assert "at most 25" in answer.json["detail"]
    wrong = await plain_door.ask("POST", "/jobs/scrape?mode=later", json=SYNC_EXAMPLE)
    assert_problem(wrong, 422, "bad_request")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/jobs/scrape", "POST"),
        ("DELETE", "/jobs/scrape", "POST"),
        ("POST", "/jobs/sites", "GET"),
        ("DELETE", "/jobs/sites", "GET"),
        ("POST", "/jobs/health", "GET"),
        ("DELETE", "/jobs/health", "GET"),
        ("POST", "/jobs/queue/status", "GET"),
        ("DELETE", "/jobs/queue/status", "GET"),
        ("POST", "/jobs/scrape/manual_1", "GET"),
        ("GET", "/scheduler/run", "POST"),
        ("POST", "/scheduler/status", "GET"),
    ],
)
async def test_a_reserved_word_is_no_job_and_knows_its_method(
    plain_door: Front, method: str, path: str, allowed: str
) -> None:
    answer = await plain_door.ask(method, path)
    assert_problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allowed


async def test_beneath_a_reserved_word_there_is_nothing_else(plain_door: Front) -> None:
    for path in ("/jobs/queue", "/jobs/queue/results", "/jobs/sites/status", "/jobs/submit/status"):
        assert_problem(await plain_door.get(path), 404, "not_found")


async def test_the_status_of_an_idle_queue(door: Front) -> None:
    nothing = {"waiting": 0, "due_retries": 0, "later_retries": 0, "oldest_wait_seconds": None,
               "capped": False, "retries_capped": False}  # fmt: skip
    answer = await door.get("/jobs/queue/status")
    assert (answer.status, answer.json) == (200, {
        "status": "success",
        "data": {
            "bands": {"high": nothing, "medium": nothing, "low": nothing},
            "in_flight": 0, "workers": 0, "pages_per_minute": 0.0, "latency_ms": None,
            "attempts": 0,
        },
    })  # fmt: skip


async def test_the_health_of_an_idle_queue(door: Front) -> None:
    answer = await door.get("/jobs/health")
    assert (answer.status, answer.json) == (200, {
        "status": "success",
        "data": {
            "service": "degraded", "database": "ok", "workers": 0, "in_flight": 0, "waiting": 0,
            "waiting_is_capped": False, "oldest_wait_seconds": None, "success_rate": None,
        },
    })  # fmt: skip


async def test_the_queue_after_some_work(working: Front, site: Site) -> None:
    urls = [site.has("/1", b"1", "text/plain"), site.has("/2", b"2", "text/plain"),
            site.has("/3", b"3", "text/plain"), site.fails("/4", 404)]  # fmt: skip
    for url in urls:
        await working.ended((await working.submit(url)).json["id"])
    status = (await working.get("/jobs/queue/status")).json["data"]
    assert (status["workers"], status["pages_per_minute"], status["attempts"]) == (1, 4.0, 4)
    latency = status["latency_ms"]
    assert 0 <= latency["p50"] <= latency["p95"] <= latency["p99"] < 5_000
    health = (await working.get("/jobs/health")).json["data"]
    assert (health["service"], health["workers"], health["success_rate"]) == ("ok", 1, 0.75)


async def test_overall_health_has_the_envelope_too(working: Front) -> None:
    async def well() -> bool:
        return bool((await working.get("/health")).json["status"] == "ok")

    await until(well, 10, lambda: "no worker came")
    answer = (await working.get("/health")).json
    facts = {"store": "ok", "workers": 1, "version": answer["version"]}
    assert answer == {"status": "ok", "data": facts, **facts}
    assert re.fullmatch(r"\d+\.\d+\.\d+", answer["version"])
