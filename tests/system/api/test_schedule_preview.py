"""The plan of the schedules at the API: what is read for it, whose it is, and how it is bounded."""

from typing import Any

import orjson
import pytest

from api.front import Front
from api.stage import Stage
from api.visitors import visitor
from curtsy.model.roles import Role

START = "2026-03-27T12:00:00Z"


async def make(door: Front, name: str, payload: dict[str, Any], **said: Any) -> None:
    body = {"name": name, "every_minutes": 60, "jitter": False, "payload": payload} | said
    answer = await door.ask("POST", "/schedules", json=body)
    assert answer.status == 201, answer


def articles(number: int, host: str = "a.example", **more: Any) -> dict[str, Any]:
    urls = [{"url": f"https://{host}/{n}"} for n in range(number)]
    return {"articles": {"articles": urls} | more}


def crawl(depth: int, most: int, host: str = "a.example") -> dict[str, Any]:
    return {"crawl": {"spider": "raw", "start_urls": [f"https://{host}/"], "depth": depth,
                      "params": {"max_pages": most}}}  # fmt: skip


async def plan(door: Front, query: str = "hours=3") -> dict[str, Any]:
    answer = await door.get(f"/scheduler/plan?{query}")
    assert answer.status == 200, answer
    found: dict[str, Any] = answer.json["data"]
    return found


async def test_without_schedules_there_is_nothing_to_do(plain_door: Front) -> None:
    found = await plan(plain_door)
    assert (found["schedules"], found["slots"], found["capped"]) == (0, [], False)


async def test_pages_come_from_the_payloads(stage: Stage) -> None:
    stage.at(START)
    await make(stage.door, "news", articles(50))
    await make(stage.door, "two", articles(2, "b.example"), every_minutes=90)
    await make(stage.door, "tidy", {"duty": "cleanup"})
    await make(stage.door, "off", articles(9), enabled=False)
    found = await plan(stage.door)
    assert (found["since"], found["until"]) == (
        "2026-03-27T12:00:00.000Z", "2026-03-27T15:00:00.000Z"
    )  # fmt: skip
    assert found["schedules"] == 3
    slots = [(one["schedule"], one["fire_at"][11:16], one["pages"]) for one in found["slots"]]
    assert slots == [
        ("news", "13:00", 50), ("tidy", "13:00", 0), ("two", "13:30", 2), ("news", "14:00", 50),
        ("tidy", "14:00", 0), ("news", "15:00", 50), ("two", "15:00", 2), ("tidy", "15:00", 0),
    ]  # fmt: skip
    hours = {(one["source"], one["hour"][11:16]): one["pages"] for one in found["busiest"]}
    assert hours == {("a.example", "13:00"): 50, ("a.example", "14:00"): 50,
                     ("b.example", "13:00"): 2}  # fmt: skip
    assert (found["pages"], found["pages_at_most"]) == (102, 102)
    assert (found["clashes"], found["overruns"]) == ([], [])


async def test_a_described_source_goes_by_its_policy(stage: Stage) -> None:
    stage.at(START)
    body = {"hosts": ["a.example", "b.example"], "min_delay_seconds": 60}
    assert (await stage.door.ask("PUT", "/sources/slow", json=body)).status == 201
    await make(stage.door, "one", articles(40))
    await make(stage.door, "other", articles(40, "b.example"))
    found = await plan(stage.door)
    [clash] = found["clashes"]
    assert (clash["source"], clash["schedules"], clash["certain"]) == (
        "slow", ["one", "other"], True
    )  # fmt: skip
    assert clash["first_at"] == "2026-03-27T13:00:00.000Z"
    late = {one["schedule"]: one for one in found["overruns"]}
    assert late.keys() == {"one", "other"}
    assert late["one"]["certain"]
    assert late["one"]["next_after_seconds"] == 3_600
    assert late["one"]["takes_seconds"] > 75 * 60
    assert found["skipped"] > 0


async def test_of_a_crawl_the_most_is_told_apart(stage: Stage) -> None:
    stage.at(START)
    await make(stage.door, "deep", crawl(2, 5_000))
    await make(stage.door, "flat", crawl(0, 5_000, "b.example"))
    found = await plan(stage.door)
    assert {one["schedule"]: one["pages_at_most"] for one in found["slots"][:2]} == {
        "deep": 5_000, "flat": 1
    }  # fmt: skip
    [late] = found["overruns"]
    assert (late["schedule"], late["certain"], late["overlap"]) == ("deep", False, "skip")


async def test_a_paused_source_and_a_run_that_goes_on_are_seen(stage: Stage) -> None:
    stage.at(START)
    await make(stage.door, "news", articles(5))
    assert (await stage.door.ask("POST", "/schedules/news/run")).status == 202
    await stage.door.ask("POST", "/sources/a.example/pause")
    found = await plan(stage.door)
    assert [one["outcome"] for one in found["slots"]][-1] == "skipped"
    [late] = found["overruns"]
    assert late["takes_seconds"] is None


async def test_what_would_be_refused_is_foretold(stage: Stage) -> None:
    stage.at(START)
    await make(stage.door, "bad", articles(1))
    unknown = orjson.dumps({"duty": "unknown"}).decode()
    await stage.door.engine.execute("UPDATE schedules SET payload = :payload", payload=unknown)
    assert {one["outcome"] for one in (await plan(stage.door))["slots"]} == {"refused"}


async def test_one_sees_ones_own_alone(plain_door: Front) -> None:
    ann, bob = await visitor(plain_door, "ann"), await visitor(plain_door, "bob", Role.READ)
    boss = await visitor(plain_door, "boss", Role.OPERATE)
    body = {"name": "hers", "every_minutes": 60, "payload": articles(1)}
    assert (await ann.ask("POST", "/schedules", json=body)).status == 201
    counts = [(await one.get("/scheduler/plan")).json["data"]["schedules"]
              for one in (ann, bob, boss)]  # fmt: skip
    assert counts == [1, 0, 1]


@pytest.mark.parametrize("query", ["hours=0", "hours=745", "hours=nan", "hours=x", "limit=10001"])
async def test_a_span_has_bounds(plain_door: Front, query: str) -> None:
    assert (await plain_door.get(f"/scheduler/plan?{query}")).status == 422


async def test_few_slots_may_be_asked_for(stage: Stage) -> None:
    stage.at(START)
    await make(stage.door, "often", articles(1), every_minutes=1)
    found = await plan(stage.door, "hours=1.5&limit=4")
    assert (len(found["slots"]), found["slots_total"]) == (4, 90)
