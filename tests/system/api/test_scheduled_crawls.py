"""Crawls for later: the job of the first slot, when the schedule is changed or asked for again."""

from typing import Any

import pytest

from api.front import Answer, Front, assert_problem
from api.stage import Stage

NOON = "2026-03-27T12:00:00Z"
CRAWL: dict[str, Any] = {"spider": "raw", "start_urls": ["https://a.example/"], "name": "mine"}
AT_ONE = CRAWL | {"schedule_at": "2026-03-27T13:00:00Z"}
HOURLY = CRAWL | {"interval": "0 * * * *"}
BOARD = {"search_url": "https://board.example/?q=x", "cron": "@yearly",
         "recipe": {"record": "li", "fields": {"a": "b"}}}  # fmt: skip


async def crawl(door: Front, said: dict[str, Any]) -> Any:
    answer = await door.ask("POST", "/crawl", json=said)
    assert answer.status == 202, answer
    return answer.json


async def change(door: Front, schedule: str, **said: Any) -> Answer:
    return await door.ask("PATCH", f"/schedules/{schedule}", json=said)


async def slots(door: Front, schedule: str) -> Any:
    return (await door.get(f"/schedules/{schedule}/runs")).json["runs"]


@pytest.mark.parametrize(
    ("payload", "door", "name"),
    [
        ({"run": {"site_name": "board"}}, "runs", "board"),
        ({"articles": {"articles": [{"url": "https://b.example/"}]}}, "articles", None),
        ({"crawl": CRAWL | {"name": "other"}}, "crawl", "other"),
    ],
)
async def test_with_another_payload_the_first_slot_has_a_job_of_its_own(
    stage: Stage, payload: dict[str, Any], door: str, name: str | None
) -> None:
    stage.at(NOON)
    await stage.door.ask("PUT", "/sites/board", json=BOARD)
    made = await crawl(stage.door, AT_ONE)
    assert (await change(stage.door, made["schedule_id"], payload=payload)).status == 200
    assert (await stage.door.get(f"/jobs/{made['job_id']}")).json["state"] == "cancelled"
    log = await stage.door.ask("GET", f"/jobs/{made['job_id']}/logs",
                               headers={"Accept": "application/json"})  # fmt: skip
    assert "The schedule was changed." in str(log.json)
    stage.at("2026-03-27T13:00:01Z")
    await stage.door.ask("POST", "/scheduler/run")
    [slot] = await slots(stage.door, made["schedule_id"])
    assert slot["outcome"] == "fired", slot
    job = (await stage.door.get(f"/jobs/{slot['job_id']}")).json
    assert (job["door"], job.get("name", job.get("site_name"))) == (door, name)
    [row] = await stage.door.engine.query(
        "SELECT site_id, scraper FROM jobs WHERE public_id = :job", job=slot["job_id"]
    )
    assert (row.site_id is not None) == (door == "runs")
    assert row.scraper == {"runs": "listing", "articles": "article", "crawl": "raw"}[door]


async def test_a_crawl_that_becomes_a_duty_leaves_no_job_behind(stage: Stage) -> None:
    stage.at(NOON)
    made = await crawl(stage.door, AT_ONE)
    await change(stage.door, made["schedule_id"], payload={"duty": "cleanup"})
    stage.at("2026-03-27T13:00:01Z")
    await stage.door.ask("POST", "/scheduler/run")
    assert (await stage.door.get(f"/jobs/{made['job_id']}")).json["state"] == "cancelled"


async def test_other_words_leave_the_first_job_alone(stage: Stage) -> None:
    stage.at(NOON)
    made = await crawl(stage.door, HOURLY)
    same = {"start_urls": ["https://a.example/"], "name": "mine", "spider": "raw"}
    for said in ({"overlap": "allow"}, {"payload": {"crawl": same}}, {"cron": "30 * * * *"}):
        assert (await change(stage.door, made["schedule_id"], **said)).status == 200
    stage.at("2026-03-27T12:30:01Z")
    await stage.door.ask("POST", "/scheduler/run")
    [slot] = await slots(stage.door, made["schedule_id"])
    assert (slot["outcome"], slot["job_id"]) == ("fired", made["job_id"])


async def test_a_crawl_for_once_may_come_earlier_than_was_said(stage: Stage) -> None:
    stage.at(NOON)
    made = await crawl(stage.door, AT_ONE)
    earlier = await change(stage.door, made["schedule_id"], at="2026-03-27T12:30:00Z")
    assert earlier.json["next_run"] == "2026-03-27T12:30:00.000Z"


async def test_a_moment_before_which_no_slot_comes_can_be_taken_away(stage: Stage) -> None:
    stage.at(NOON)
    made = await crawl(stage.door, HOURLY | {"schedule_at": "2026-03-28T00:00:00Z"})
    refused = await change(stage.door, made["schedule_id"], at="2026-03-27T15:00:00Z")
    assert_problem(refused, 422, "bad_request")
    assert "is before 2026-03-28T00:00:00.000Z, its not_before" in refused.json["detail"]
    freed = await change(stage.door, made["schedule_id"], not_before=None)
    assert (freed.json["next_run"], "not_before" in freed.json) == (
        "2026-03-27T13:00:00.000Z", False)  # fmt: skip


async def test_asked_for_again_after_its_job_was_cancelled_there_is_one_schedule(
    stage: Stage,
) -> None:
    stage.at(NOON)
    first = await crawl(stage.door, HOURLY)
    await stage.door.delete(f"/jobs/{first['job_id']}")
    again = await crawl(stage.door, HOURLY)
    assert (again["schedule_id"], again["cached"]) == (first["schedule_id"], False)
    assert again["job_id"] != first["job_id"]
    once_more = await crawl(stage.door, HOURLY)
    assert (once_more["job_id"], once_more["cached"]) == (again["job_id"], True)
    stage.at("2026-03-27T13:00:01Z")
    await stage.door.ask("POST", "/scheduler/run")
    [slot] = await slots(stage.door, first["schedule_id"])
    assert (slot["outcome"], slot["job_id"]) == ("fired", again["job_id"])
    assert len((await stage.door.get("/schedules")).json["schedules"]) == 1


@pytest.mark.parametrize("at", ["12:10:00", "12:40:00"], ids=["before its slot", "after it"])
async def test_asked_for_again_after_its_job_was_purged_there_is_one_schedule(
    stage: Stage, at: str
) -> None:
    stage.at(NOON)
    asked = CRAWL | {"interval": "30 * * * *"}
    first = await crawl(stage.door, asked)
    stage.at(f"2026-03-27T{at}Z")
    await stage.door.ask("POST", "/scheduler/run")
    await stage.door.delete(f"/jobs/{first['job_id']}?purge=true")
    again = await crawl(stage.door, asked)
    assert again["schedule_id"] == first["schedule_id"]
    assert (await stage.door.get(f"/jobs/{again['job_id']}")).json["state"] == "scheduled"
    assert len((await stage.door.get("/schedules")).json["schedules"]) == 1


async def test_while_it_is_paused_no_next_run_is_promised(stage: Stage) -> None:
    stage.at(NOON)
    first = await crawl(stage.door, HOURLY)
    path = f"/schedules/{first['schedule_id']}"
    await stage.door.ask("POST", f"{path}/pause")
    again = await crawl(stage.door, HOURLY)
    assert (again["job_id"], again["next_run"]) == (first["job_id"], None)
    status = (await stage.door.get(f"/jobs/{first['job_id']}/status")).json
    assert status.get("next_run") is None
    await stage.door.ask("POST", f"{path}/resume")
    assert (await crawl(stage.door, HOURLY))["next_run"] == first["next_run"]
    status = (await stage.door.get(f"/jobs/{first['job_id']}/status")).json
    assert status["next_run"] == first["next_run"]


async def test_a_first_job_whose_slot_is_skipped_waits_for_the_next(stage: Stage) -> None:
    stage.at(NOON)
    first = await crawl(stage.door, HOURLY)
    assert (await stage.door.ask("POST", f"/schedules/{first['schedule_id']}/run")).status == 202
    stage.at("2026-03-27T13:00:01Z")
    await stage.door.ask("POST", "/scheduler/run")
    [slot, _by_hand] = await slots(stage.door, first["schedule_id"])
    assert slot["outcome"] == "skipped"
    status = (await stage.door.get(f"/jobs/{first['job_id']}/status")).json
    assert status["next_run"] == "2026-03-27T14:00:00.000Z"


@pytest.mark.parametrize("said", [{"cron": "@daily"}, {"enabled": False}], ids=str)
async def test_one_that_is_not_as_it_was_asked_for_is_no_answer_to_the_same_question(
    stage: Stage, said: dict[str, Any]
) -> None:
    stage.at(NOON)
    first = await crawl(stage.door, HOURLY)
    await stage.door.delete(f"/jobs/{first['job_id']}")
    await change(stage.door, first["schedule_id"], **said)
    assert (await crawl(stage.door, HOURLY))["schedule_id"] != first["schedule_id"]


async def test_what_is_changed_may_be_called_and_be_as_large_as_what_is_made(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.at(NOON)
    made = await crawl(stage.door, HOURLY)
    posing = await change(stage.door, made["schedule_id"], name="sch_0123456789ab")
    assert_problem(posing, 422, "bad_request")
    assert "looks like the id of a schedule" in posing.json["detail"]
    monkeypatch.setattr("curtsy.schedules.schedule.MOST_PAYLOAD_BYTES", 2_000)
    urls = [{"url": f"https://a.example/{n}"} for n in range(100)]
    large = {"articles": {"articles": urls}}
    refused = await change(stage.door, made["schedule_id"], payload=large)
    assert_problem(refused, 422, "bad_request")
    assert "bytes, but at most 2000 are allowed" in refused.json["detail"]
    unnamed = await change(stage.door, made["schedule_id"], overlap="allow")
    assert unnamed.json["name"] == made["schedule_id"], "one that is called by its id may stay so"


async def test_the_zone_that_goes_without_saying_may_be_said(stage: Stage) -> None:
    stage.at(NOON)
    first = await crawl(stage.door, HOURLY)
    again = await crawl(stage.door, HOURLY | {"timezone": "UTC"})
    assert (again["schedule_id"], again["cached"]) == (first["schedule_id"], True)
    other = await crawl(stage.door, HOURLY | {"timezone": "Asia/Tokyo"})
    assert other["schedule_id"] != first["schedule_id"]


@pytest.mark.parametrize("asked", ["pause", "resume"])
async def test_a_job_that_waits_for_its_slot_is_not_paused_and_says_why(
    stage: Stage, asked: str
) -> None:
    stage.at(NOON)
    job = (await crawl(stage.door, AT_ONE))["job_id"]
    answer = await stage.door.ask("POST", f"/jobs/{job}/{asked}")
    assert_problem(answer, 409, "wrong_state")
    assert answer.json["detail"] == f"Job {job} is scheduled: it cannot be {asked.rstrip('e')}ed."
