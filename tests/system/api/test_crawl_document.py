"""The crawl document at the API: its own examples, at its own times, compared field by field.

Its request names the seo spider. That is named here with the part that will remove it from this
list; everything else of it is replayed.
"""

import asyncio
import json
from typing import Any

import pytest

from api.front import Answer, Front, assert_problem
from api.stage import Stage, instant, same, story
from curtsy.api.routes.crawl import LATER
from support.patience import PATIENCE

AS_WRITTEN: dict[str, Any] = {
    "user_id": "abc123",
    "spider": "seo",
    "start_urls": ["https://example.com"],
    "depth": 2,
    "schedule_at": "2025-06-01T09:00:00Z",
    "interval": "0 9 * * *",
    "ignore_cache": False,
    "params": {},
}
"""The document's request, without its comments."""
NOT_YET = {
    "spider": "the seo spider",
}
"""Fields of that request whose values answer 501, with the part that brings each. Only ever taken
from."""
LATER_ON = ("schedule_at", "interval")
OTHERS_NOT_YET = [
    ({"spider": "DiscoveryBot/seo"}, "Scrapyd"),
]
"""What else the document, or the contract, has of this door: the same."""
NOW = {name: value for name, value in AS_WRITTEN.items() if name not in (*NOT_YET, *LATER_ON)}
IMMEDIATE = NOW | {"spider": "article"}
HOME, ABOUT, DEEP = (f"https://example.com/{path}" for path in ("", "about", "deep"))


async def crawl(door: Front, query: str = "", **changes: Any) -> Answer:
    return await door.ask("POST", f"/crawl{query}", json=IMMEDIATE | changes)


async def log_of(door: Front, path: str) -> tuple[str, list[dict[str, str]]]:
    """The stream as it came, and its events; it has to end by itself."""
    async with asyncio.timeout(PATIENCE), door.session.get(door.url + path) as reply:
        assert reply.headers["Content-Type"].startswith("text/event-stream")
        text = await reply.text()
    pieces = [piece.splitlines() for piece in text.split("\n\n") if "data: " in piece]
    return text, [dict(line.split(": ", 1) for line in piece) for piece in pieces]  # type: ignore[misc]


async def test_the_request_as_written_waits_for_parts_to_come(stage: Stage) -> None:
    stage.at("2025-05-31T12:00:00Z")
    answer = await stage.door.ask("POST", "/crawl", json=AS_WRITTEN)
    assert_problem(answer, 501, "not_built")
    assert answer.json["part"] in NOT_YET.values()
    assert (await stage.door.get("/jobs")).json["total"] == 0


@pytest.mark.parametrize(("field", "part"), NOT_YET.items())
async def test_each_field_of_it_that_waits_says_for_what(
    plain_door: Front, field: str, part: str
) -> None:
    answer = await crawl(plain_door, **{field: AS_WRITTEN[field]})
    assert_problem(answer, 501, "not_built")
    assert answer.json["part"] == part


@pytest.mark.parametrize(("change", "part"), OTHERS_NOT_YET, ids=str)
async def test_what_else_waits_says_so_too(
    plain_door: Front, change: dict[str, Any], part: str
) -> None:
    answer = await crawl(plain_door, **change)
    assert_problem(answer, 501, "not_built")
    assert answer.json["part"] == part


def test_spiders_that_come_later_are_known_by_name() -> None:
    assert LATER == {"seo": "the seo spider"}


async def test_a_periodic_crawl_and_the_same_one_again(stage: Stage) -> None:
    """The document's request as it is, but for the spider."""
    stage.at("2025-05-31T12:00:00Z")
    asked = AS_WRITTEN | {"spider": "article"}
    made = await stage.door.ask("POST", "/crawl", json=asked)
    assert made.status == 202
    job, schedule = made.json["job_id"], made.json["schedule_id"]
    same(made.json, {"job_id": job, "scheduled": True, "next_run": "2025-06-01T09:00:00.000Z"})
    status = (await stage.door.get(f"/jobs/{job}/status")).json
    same(status, {"job_id": job, "status": "pending", "state": "scheduled",
                  "next_run": "2025-06-01T09:00:00.000Z", "schedule_id": schedule})  # fmt: skip
    again = await stage.door.ask("POST", "/crawl", json=asked)
    assert (again.status, again.json["job_id"], again.json["cached"]) == (202, job, True)
    other = await stage.door.ask("POST", "/crawl", json=asked | {"interval": "0 10 * * *"})
    assert other.json["job_id"] != job

    stage.at("2025-06-01T09:00:00Z")
    ticked = (await stage.door.ask("POST", "/scheduler/run")).json["data"]["queued"]
    assert [one["job_id"] for one in ticked] == [job]
    assert (await stage.door.get(f"/jobs/{job}/status")).json["state"] == "queued"
    stage.at("2025-06-02T09:00:00Z")
    ticked = (await stage.door.ask("POST", "/scheduler/run")).json["data"]["queued"]
    assert schedule not in [one["schedule"] for one in ticked]
    runs = (await stage.door.get(f"/schedules/{schedule}/runs")).json["runs"]
    assert [one["outcome"] for one in runs] == ["skipped", "fired"]


async def test_a_crawl_for_later_is_cancelled_alone_or_with_its_schedule(stage: Stage) -> None:
    stage.at("2025-05-31T12:00:00Z")
    asked = AS_WRITTEN | {"spider": "article"}
    first = (await stage.door.ask("POST", "/crawl", json=asked)).json
    gone = await stage.door.delete(f"/jobs/{first['job_id']}")
    assert gone.json["message"] == "Job cancelled. Removed 0 pending tasks."
    assert (await stage.door.get(f"/schedules/{first['schedule_id']}")).status == 200
    anew = (await stage.door.ask("POST", "/crawl", json=asked)).json
    assert anew["job_id"] != first["job_id"], "a cancelled job is never the same again"
    with_it = await stage.door.delete(f"/jobs/{anew['job_id']}?schedule=true")
    assert (with_it.status, with_it.json["status"]) == (200, "cancelled")
    assert (await stage.door.get(f"/schedules/{anew['schedule_id']}")).status == 404


async def test_an_immediate_crawl_and_the_same_one_again(stage: Stage) -> None:
    stage.at("2025-06-01T09:00:00Z")
    made = await crawl(stage.door)
    job = made.json["job_id"]
    assert (made.status, made.json) == (200, {
        "job_id": job, "scheduled": False, "cached": False, "cached_at": None,
        "logs_url": f"/jobs/{job}/logs", "status_url": f"/jobs/{job}/status",
    })  # fmt: skip

    stage.at("2025-06-01T09:30:00Z")
    again = await crawl(stage.door)
    assert again.status == 200
    same(again.json, {"job_id": job, "scheduled": False, "cached": True,
                      "cached_at": "2025-06-01T09:00:00Z"})  # fmt: skip
    assert again.json.keys() == made.json.keys()
    assert (await stage.door.get("/jobs")).json["total"] == 1


async def test_the_same_crawl_is_another_once_the_cache_has_expired(stage: Stage) -> None:
    """`CRAWL_CACHE_TTL` is an hour."""
    stage.at("2025-06-01T09:00:00Z")
    first = (await crawl(stage.door)).json["job_id"]
    stage.at("2025-06-01T09:59:59.999Z")
    assert (await crawl(stage.door)).json["job_id"] == first
    stage.at("2025-06-01T10:00:01Z")
    later = (await crawl(stage.door)).json
    assert (later["job_id"] == first, later["cached"]) == (False, False)


@pytest.mark.parametrize(
    "other",
    [{"user_id": "def456"}, {"spider": "raw"}, {"start_urls": ["https://example.org"]},
     {"depth": 1}, {"params": {"max_pages": 7}}],
    ids=str,
)  # fmt: skip
async def test_each_part_of_the_documents_key_makes_it_another_crawl(
    stage: Stage, other: dict[str, Any]
) -> None:
    first = (await crawl(stage.door)).json["job_id"]
    answer = (await crawl(stage.door, **other)).json
    assert (answer["job_id"] == first, answer["cached"]) == (False, False)


@pytest.mark.parametrize(
    ("query", "change"),
    [("?ignore_cache=true", {}), ("", {"ignore_cache": True})],
    ids=["in the query", "in the body"],
)
async def test_ignore_cache_passes_by_the_job_and_the_pages(
    stage: Stage, query: str, change: dict[str, Any]
) -> None:
    """Both layers of the document: the scheduler's, and the spider's own cache of pages."""
    stage.script.pages[HOME] = story("Home")
    first = (await crawl(stage.door, depth=0)).json["job_id"]
    await stage.fetch()
    stored = (await crawl(stage.door, depth=0, params={"max_pages": 7})).json
    assert stored["job_id"] != first
    assert stage.script.asked == [HOME], "of another crawl the stored page is good enough"

    anew = await crawl(stage.door, query, depth=0, **change)
    assert (anew.status, anew.json["cached"], anew.json["cached_at"]) == (200, False, None)
    assert anew.json["job_id"] not in (first, stored["job_id"])
    await stage.fetch(HOME)
    assert stage.script.asked == [HOME, HOME]


async def test_the_status_of_a_crawl_from_its_start_to_its_end(stage: Stage) -> None:
    stage.script.pages |= {HOME: story("Home", "/about"), ABOUT: story("About", "/deep"),
                           DEEP: story("Deep", "/too-deep")}  # fmt: skip
    stage.at("2025-06-01T09:00:00Z")
    made = (await crawl(stage.door)).json
    status = await stage.door.get(made["status_url"])
    assert (status.status, status.json["status"]) == (200, "pending")
    assert "started_at" not in status.json

    stage.at("2025-06-01T09:00:05Z")
    await stage.start(HOME)
    running = (await stage.door.get(made["status_url"])).json
    same(running, {"job_id": made["job_id"], "status": "running",
                   "started_at": "2025-06-01T09:00:05Z"})  # fmt: skip
    assert running["spider_job_id"] == made["job_id"], "of a built-in spider: the job itself"

    stage.at("2025-06-01T09:00:07Z")
    for _depth in range(3):
        await stage.fetch()
    assert stage.script.asked == [HOME, ABOUT, DEEP]
    assert (await stage.door.get(made["status_url"])).json.keys() - running.keys() == {
        "finished_at"
    }
    same((await stage.door.get(made["status_url"])).json, {
        "job_id": made["job_id"], "status": "finished", "started_at": "2025-06-01T09:00:05Z",
        "finished_at": "2025-06-01T09:00:07Z", "created_at": "2025-06-01T09:00:00Z",
        "updated_at": "2025-06-01T09:00:07Z", "spider_job_id": made["job_id"],
        "user_id": "abc123", "spider": "article", "total_pages": 3, "completed": 3, "failed": 0,
        "cancelled": 0, "pending": 0, "tags": [], "door": "crawl", "state": "succeeded",
    })  # fmt: skip


async def test_a_crawl_of_which_nothing_came_is_an_error(stage: Stage) -> None:
    made = (await crawl(stage.door)).json
    await stage.fetch(HOME)
    assert (await stage.door.get(made["status_url"])).json["status"] == "error"


async def test_the_log_has_the_documents_events(stage: Stage) -> None:
    stage.script.pages[HOME] = story("Home")
    stage.at("2025-06-01T09:00:00Z")
    made = (await crawl(stage.door)).json
    stage.at("2025-06-01T09:00:07Z")
    await stage.fetch(HOME)
    text, events = await log_of(stage.door, made["logs_url"])
    *lines, end = events
    assert end.keys() == {"id", "event", "data"}
    assert end["event"] == "end"
    assert json.loads(end["data"]) == {"status": "finished", "spider_job_id": made["job_id"]}
    assert {line["event"] for line in lines} == {"log"}
    entries = [json.loads(line["data"]) for line in lines]
    assert all(entry.keys() == {"ts", "level", "msg"} for entry in entries)
    assert instant(entries[0]["ts"]) == instant("2025-06-01T09:00:00Z")
    assert instant(entries[-1]["ts"]) == instant("2025-06-01T09:00:07Z")
    assert any(f"Fetched {HOME}" in entry["msg"] for entry in entries)
    assert {entry["level"] for entry in entries} <= {"DEBUG", "INFO", "WARNING", "ERROR"}
    assert "event: log\ndata: {" in text
    assert "event: end\ndata: {" in text
    assert len({event["id"] for event in events}) == len(events)


async def test_the_log_of_a_running_crawl_comes_as_it_happens(stage: Stage) -> None:
    stage.script.pages[HOME] = story("Home")
    made = (await crawl(stage.door)).json
    url = stage.door.url + made["logs_url"]
    async with asyncio.timeout(PATIENCE), stage.door.session.get(url) as reply:
        said = b""
        while b"Queued" not in said:
            said += await reply.content.readany()
        assert b"event: end" not in said
        await stage.fetch(HOME)
        said += await reply.content.read()
    assert said.count(b"event: end") == 1
    assert said.index(b"Fetched") < said.index(b"event: end")


async def test_many_requests_at_once_are_one_crawl(stage: Stage) -> None:
    """The document's test under load."""
    answers = await asyncio.gather(*(crawl(stage.door) for _ in range(50)))
    assert len({answer.json["job_id"] for answer in answers}) == 1
    assert sorted(answer.json["cached"] for answer in answers) == [False] + [True] * 49


async def test_a_crawl_for_later_that_makes_no_sense_is_refused(stage: Stage) -> None:
    stage.at("2025-06-02T12:00:00Z")
    asked = AS_WRITTEN | {"spider": "article"}
    past = await stage.door.ask("POST", "/crawl", json=asked)
    assert_problem(past, 422, "bad_request")
    assert "schedule_at is in the past" in past.json["detail"]
    by = asked | {"schedule_at": None, "finish_by": "2025-07-01T00:00:00Z"}
    answer = await stage.door.ask("POST", "/crawl", json=by)
    assert_problem(answer, 422, "bad_request")
    assert "finish_by" in answer.json["detail"]


async def test_a_crawl_whose_schedule_was_removed_is_another_one(stage: Stage) -> None:
    stage.at("2025-05-31T08:59:00Z")
    asked = AS_WRITTEN | {"spider": "article", "schedule_at": None}
    first = (await stage.door.ask("POST", "/crawl", json=asked)).json
    stage.at("2025-05-31T09:00:00Z")
    await stage.door.ask("POST", "/scheduler/run")
    await stage.door.delete(f"/schedules/{first['schedule_id']}")
    again = (await stage.door.ask("POST", "/crawl?ignore_cache=true", json=asked)).json
    assert (again["cached"], again["job_id"] == first["job_id"]) == (False, False)
    shown = (await stage.door.get(f"/schedules/{again['schedule_id']}")).json
    assert shown["payload"]["crawl"]["ignore_cache"] is True
