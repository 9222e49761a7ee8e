"""Schedules at the API: made, shown, changed, run by hand, and refused where they make no sense."""

import asyncio
from typing import Any

import pytest

from api.front import Front, assert_problem
from api.stage import Stage
from api.visitors import MovableClock, visitor
from curtsy.api import schedule_backend
from curtsy.clock import MINUTE
from curtsy.errors import StoreAway
from curtsy.model.roles import Role
from curtsy.schedules import schedule
from curtsy.timetable import Cron, to_json
from support.engine import until

PAYLOAD = {"fetch": {"url": "https://a.example/1"}}
DAILY: dict[str, Any] = {"name": "daily", "cron": "30 2 * * *", "timezone": "Europe/Berlin",
                         "payload": PAYLOAD}  # fmt: skip


async def make(door: Front, **said: Any) -> Any:
    answer = await door.ask("POST", "/schedules", json=DAILY | said)
    assert answer.status == 201, answer
    return answer.json


async def test_a_schedule_shows_its_rule_and_its_next_firings(stage: Stage) -> None:
    stage.at("2026-03-27T12:00:00Z")
    made = await make(stage.door)
    assert made["when"] == "30 2 * * * in Europe/Berlin"
    assert made["next_run"] == "2026-03-28T01:30:00.000Z"
    firings = [(one["local"], one["clock_changes"]) for one in made["next_runs"]]
    assert len(firings) == 5
    assert firings[0] == ("2026-03-28T02:30:00.000+01:00", False)
    assert firings[1] == ("2026-03-29T03:00:00.000+02:00", True), "no hour from 2 to 3"
    assert firings[2] == ("2026-03-30T02:30:00.000+02:00", False)
    assert (made["state"], made["overlap"], made["catch_up"]) == ("waiting", "skip", "latest")
    by_name = (await stage.door.get("/schedules/daily")).json
    assert by_name == made
    listed = (await stage.door.get("/schedules")).json
    assert [one["id"] for one in listed["schedules"]] == [made["id"]]


async def test_what_is_changed_changes_and_the_rest_stays(stage: Stage) -> None:
    stage.at("2026-03-27T12:00:00Z")
    made = await make(stage.door)
    path = f"/schedules/{made['id']}"
    changed = (await stage.door.ask("PATCH", path, json={"overlap": "allow"})).json
    assert (changed["overlap"], changed["next_run"]) == ("allow", made["next_run"])
    later = (await stage.door.ask("PATCH", path, json={"cron": "0 9 * * *"})).json
    assert later["when"] == "0 9 * * * in Europe/Berlin"
    assert later["next_run"] == "2026-03-28T08:00:00.000Z"
    every = (await stage.door.ask("PATCH", path, json={"every_minutes": 30, "jitter": False})).json
    assert (every["every_minutes"], every.get("cron")) == (30, None)
    assert every["next_run"] == "2026-03-27T12:30:00.000Z"


async def test_pause_resume_run_and_remove(stage: Stage) -> None:
    stage.at("2026-03-27T12:00:00Z")
    made = await make(stage.door)
    path = f"/schedules/{made['id']}"
    paused = (await stage.door.ask("POST", f"{path}/pause")).json
    assert (paused["state"], paused.get("next_run")) == ("paused", None)
    assert_problem(await stage.door.ask("POST", f"{path}/pause"), 409, "wrong_state")
    resumed = (await stage.door.ask("POST", f"{path}/resume")).json
    assert resumed["next_run"] == made["next_run"]
    ran = await stage.door.ask("POST", f"{path}/run")
    assert ran.status == 202
    assert_problem(await stage.door.ask("POST", f"{path}/run"), 409, "wrong_state")
    [run] = (await stage.door.get(f"{path}/runs")).json["runs"]
    assert (run["job_id"], run["trigger"], run["status"]) == (
        ran.json["job_id"],
        "manual",
        "queued",
    )
    assert (await stage.door.get(f"/jobs/{run['job_id']}")).json["schedule_id"] == made["id"]
    assert (await stage.door.delete(path)).status == 200
    assert_problem(await stage.door.get(path), 404, "not_found")
    assert (await stage.door.get(f"/jobs/{run['job_id']}")).status == 200


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ({"cron": "0 0 30 2 *"}, "30"), ({"cron": "* * * * * *"}, "five"),
        ({"cron": "often"}, "often"), ({"timezone": "Mars/Olympus"}, "Mars/Olympus"),
        ({"timezone": "../../etc/passwd"}, "passwd"),
        ({"cron": None, "every_minutes": 0}, "minute"),
        ({"cron": None, "every_minutes": -5}, "minute"),
        ({"cron": None, "at": "2020-01-01T00:00:00Z"}, "past"),
        ({"cron": None}, "Give exactly one of"),
        ({"every_minutes": 60}, "Give exactly one of"), ({"after_end": True}, "every_minutes"),
        ({"overlap": "maybe"}, "overlap"), ({"catch_up": "some"}, "catch_up"),
        ({"catch_up_minutes": 0}, "catch_up_minutes"), ({"catch_up_minutes": 10**9}, "catch_up"),
        ({"payload": {}}, "give exactly one of"),
        ({"payload": PAYLOAD | {"duty": "cleanup"}}, "give exactly one of"),
        ({"payload": {"duty": "world peace"}}, "duty"),
        ({"payload": {"fetch": {"url": "http://10.0.0.1/"}}}, "10.0.0.1"),
        ({"payload": {"fetch": {"url": "ftp://a.example/"}}}, "ftp"),
        ({"payload": {"crawl": {"spider": "magic",
                                "start_urls": ["https://a.example/"]}}}, "magic"),
        ({"payload": {"crawl": {"spider": "raw", "start_urls": ["https://a.example/"],
                                "interval": "@daily"}}}, "interval"),
        ({"payload": {"articles": {"articles": [{"url": "https://a.example/"}],
                                   "dry_run": True}}}, "dry_run"),
        ({"cron": None, "at": "2020-01-01T00:00:00Z", "enabled": False}, "past"),
        ({"cron": None, "at": "2020-01-01T00:00:00Z", "name": None}, "The schedule would never"),
        ({"name": ""}, "name"), ({"name": "a/b"}, "name"), ({"colour": "red"}, "colour"),
        ({"name": "."}, "path of a URL"), ({"name": ".."}, "path of a URL"),
    ],
    ids=str,
)  # fmt: skip
async def test_what_makes_no_sense_is_refused_with_a_sentence(
    plain_door: Front, said: dict[str, Any], word: str
) -> None:
    answer = await plain_door.ask("POST", "/schedules", json=DAILY | said)
    assert answer.status == 422, answer
    assert word in str(answer.json), answer.json
    assert (await plain_door.get("/schedules")).json["schedules"] == []


async def test_two_schedules_have_two_names(plain_door: Front) -> None:
    first = await make(plain_door)
    answer = await plain_door.ask("POST", "/schedules", json=DAILY)
    assert_problem(answer, 409, "wrong_state")
    other = await make(plain_door, name="other")
    taken = await plain_door.ask("PATCH", f"/schedules/{other['id']}", json={"name": "daily"})
    assert_problem(taken, 409, "wrong_state")
    unnamed = await make(plain_door, name=None)
    assert unnamed["name"] == unnamed["id"] != first["id"]


async def test_a_list_goes_on_where_it_ended(plain_door: Front) -> None:
    made = [(await make(plain_door, name=f"s{n}"))["id"] for n in range(5)]
    found, cursor = [], ""
    while True:
        page = (await plain_door.get(f"/schedules?limit=2{cursor}")).json
        found += [one["id"] for one in page["schedules"]]
        if "next_cursor" not in page:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert found == made


async def test_a_duty_runs_at_once_when_asked(plain_door: Front) -> None:
    built = await make(plain_door, name="built", payload={"duty": "cleanup"})
    assert "note" not in built
    ran = await plain_door.ask("POST", f"/schedules/{built['id']}/run")
    assert "Deleted" in ran.json["message"]


async def test_one_that_is_done_may_be_paused_but_not_be_given_another_moment_that_is_past(
    stage: Stage,
) -> None:
    stage.at("2026-03-27T12:00:00Z")
    await make(stage.door, cron=None, at="2026-03-27T12:30:00Z")
    stage.at("2026-03-27T12:30:01Z")
    await stage.door.ask("POST", "/scheduler/run")
    paused = await stage.door.ask("POST", "/schedules/daily/pause")
    assert (paused.status, paused.json["state"]) == (200, "paused")
    past = {"at": "2026-03-27T12:10:00Z"}
    refused = await stage.door.ask("PATCH", "/schedules/daily", json=past)
    assert_problem(refused, 422, "bad_request")


async def test_the_scheduler_tells_of_itself(stage: Stage) -> None:
    stage.at("2026-03-27T12:00:00Z")
    await make(stage.door)
    await stage.door.backend.schedules.ticker._beat()
    status = (await stage.door.get("/scheduler/status")).json["data"]
    assert status == {
        "schedulers": 1, "schedules": 1, "enabled": 1, "next_run_at": "2026-03-28T01:30:00.000Z",
        "last_run_at": None, "fired_last_hour": 0, "late_last_hour": 0, "worst_lag_seconds": None,
    }  # fmt: skip
    stage.at("2026-03-28T01:30:03Z")
    [fired] = (await stage.door.ask("POST", "/scheduler/run")).json["data"]["queued"]
    assert (fired["schedule"], fired["outcome"]) == ("daily", "fired")
    status = (await stage.door.get("/scheduler/status")).json["data"]
    assert (status["fired_last_hour"], status["late_last_hour"]) == (1, 1)
    assert status["worst_lag_seconds"] == 3.0
    assert status["schedulers"] == 0, "nobody said so lately"


async def test_what_is_due_is_queued_also_where_the_clock_has_just_jumped(door: Front) -> None:
    """Another process has seen it, and this one has not."""
    await make(door, cron="* * * * *")
    await door.engine.execute(
        "UPDATE schedules SET next_fire_at = next_fire_at - 60000, look_at = look_at - 60000"
    )
    await door.engine.execute("UPDATE clock SET version = version + 1")
    answer = await door.ask("POST", "/scheduler/run")
    assert answer.status == 200, answer
    assert [fired["outcome"] for fired in answer.json["data"]["queued"]] == ["fired"]


async def test_a_user_has_schedules_of_its_own_and_a_duty_is_not_for_everyone(
    guarded: Front,
) -> None:
    ann, bob = await visitor(guarded), await visitor(guarded, "bob")
    made = (await ann.ask("POST", "/schedules", json=DAILY)).json
    path = f"/schedules/{made['id']}"
    assert made["user_id"] == "ann"
    assert (await bob.ask("GET", "/schedules")).json["schedules"] == []
    for method, where, body in (
        ("GET", path, None), ("GET", f"{path}/runs", None), ("DELETE", path, None),
        ("PATCH", path, {"cron": "@daily"}), ("POST", f"{path}/run", None),
        ("POST", f"{path}/pause", None), ("GET", "/schedules/daily", None),
    ):  # fmt: skip
        answer = await bob.ask(method, where, json=body)
        assert_problem(answer, 404, "not_found")
    duty = await bob.ask(
        "POST", "/schedules", json=DAILY | {"name": "d", "payload": {"duty": "cleanup"}}
    )
    assert_problem(duty, 403, "not_allowed")
    assert (await ann.ask("GET", path)).status == 200


async def test_a_key_that_was_revoked_fires_nothing_until_another_takes_over(
    guarded: Front, movable: MovableClock
) -> None:
    ann, new = await visitor(guarded), await visitor(guarded)
    every = {"name": "often", "cron": "* * * * *", "payload": PAYLOAD}
    made = (await ann.ask("POST", "/schedules", json=every)).json
    await guarded.engine.execute(
        "UPDATE api_keys SET revoked_at = 1 WHERE id = (SELECT min(id) FROM api_keys)"
    )
    movable.advance(MINUTE)
    await guarded.backend.schedules.tick()
    runs = f"/schedules/{made['id']}/runs"
    [refused, *_missed] = (await new.ask("GET", runs)).json["runs"]
    assert (refused["outcome"], "revoked or has expired" in refused["message"]) == ("refused", True)
    await new.ask("PATCH", f"/schedules/{made['id']}", json={"overlap": "allow"})
    movable.advance(MINUTE)
    await guarded.backend.schedules.tick()
    assert (await new.ask("GET", runs)).json["runs"][0]["outcome"] == "fired"


async def test_names_are_each_users_own(guarded: Front) -> None:
    ann, bob = await visitor(guarded), await visitor(guarded, "bob")
    chief = await visitor(guarded, "chief", Role.OPERATE)
    hers = (await ann.ask("POST", "/schedules", json=DAILY)).json["id"]
    his = (await bob.ask("POST", "/schedules", json=DAILY)).json["id"]
    assert hers != his
    assert (await ann.get("/schedules/daily")).json["id"] == hers
    assert (await bob.get("/schedules/daily")).json["id"] == his
    which = await chief.get("/schedules/daily")
    assert_problem(which, 422, "bad_request")
    assert "Several users" in which.json["detail"]
    await bob.ask("DELETE", f"/schedules/{his}")
    assert (await chief.get("/schedules/daily")).json["id"] == hers
    posing = await bob.ask("POST", "/schedules", json=DAILY | {"name": hers})
    assert_problem(posing, 422, "bad_request")
    assert (await ann.get(f"/schedules/{hers}")).status == 200


async def test_the_number_of_one_that_was_removed_is_nobody_elses(guarded: Front) -> None:
    ann, bob = await visitor(guarded), await visitor(guarded, "bob")
    hers = (await ann.ask("POST", "/schedules", json=DAILY)).json["id"]
    job = (await ann.ask("POST", f"/schedules/{hers}/run")).json["job_id"]
    await ann.ask("DELETE", f"/schedules/{hers}")
    his = (await bob.ask("POST", "/schedules", json=DAILY)).json["id"]
    assert "schedule_id" not in (await ann.get(f"/jobs/{job}")).json
    refused = await ann.ask("DELETE", f"/jobs/{job}?schedule=true")
    assert_problem(refused, 400, "wrong_state")
    assert (await bob.get(f"/schedules/{his}")).status == 200
    assert (await bob.ask("POST", f"/schedules/{his}/run")).status == 202


async def test_a_job_that_waits_for_its_slot_is_not_an_open_one(guarded: Front) -> None:
    ann = await visitor(guarded, open_jobs=1)
    later = {"spider": "raw", "start_urls": ["https://a.example/"], "interval": "@daily"}
    for depth in (0, 1):
        assert (await ann.ask("POST", "/crawl", json=later | {"depth": depth})).status == 202
    assert (await ann.submit("https://a.example/2")).status == 201


async def test_too_many_or_too_large_ones_are_refused(
    guarded: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "MOST_OF_USER", 2)
    ann = await visitor(guarded)
    for n, status in enumerate((201, 201, 429)):
        answer = await ann.ask("POST", "/schedules", json=DAILY | {"name": f"s{n}"})
        assert answer.status == status
    monkeypatch.setattr(schedule, "MOST_PAYLOAD_BYTES", 2_000)
    many = [{"url": f"https://a.example/{n}"} for n in range(100)]
    large = DAILY | {"payload": {"articles": {"articles": many}}}
    answer = await guarded.ask("POST", "/schedules", json=large, headers=ann.headers)
    assert_problem(answer, 422, "bad_request")
    assert "bytes" in answer.json["detail"]


async def test_a_long_payload_is_shown_alone_and_not_in_lists(plain_door: Front) -> None:
    urls = [{"url": f"https://a.example/{n}"} for n in range(500)]
    made = await make(plain_door, payload={"articles": {"articles": urls}})
    assert made["payload"]["articles"]["articles"] == urls
    [listed] = (await plain_door.get("/schedules")).json["schedules"]
    assert "bytes" in listed["payload"]["articles"]


async def test_slots_that_a_change_passes_over_are_told(stage: Stage) -> None:
    stage.at("2026-03-27T12:00:00Z")
    made = await make(stage.door, cron="* * * * *", catch_up="all")
    stage.at("2026-03-27T12:10:00Z")
    await stage.door.ask("PATCH", f"/schedules/{made['id']}", json={"cron": "@daily"})
    [missed] = (await stage.door.get(f"/schedules/{made['id']}/runs")).json["runs"]
    assert (missed["outcome"], missed["message"]) == ("missed", "The schedule was changed.")


async def test_a_nul_in_a_path_names_nothing(door: Front) -> None:
    for path in ("/schedules/%00", "/sites/%00", "/jobs/scrape/a%00", "/jobs/%00"):
        assert_problem(await door.get(path), 404, "not_found")


async def test_one_whose_zone_is_not_known_any_more_can_be_seen_and_harms_no_other(
    stage: Stage,
) -> None:
    stage.at("2026-03-27T12:00:00Z")
    odd, fine = await make(stage.door), await make(stage.door, name="fine")
    rule = to_json(Cron("30 2 * * *", "X/Y"))
    await stage.door.engine.execute(
        "UPDATE schedules SET timezone = 'X/Y', rule = :rule WHERE name = 'daily'",
        rule=rule,
    )
    found = (await stage.door.get(f"/schedules/{odd['id']}")).json
    assert "no time zone 'X/Y'" in found["note"]
    assert [one["local"] for one in found["next_runs"]] == ["2026-03-28T01:30:00.000+00:00"]
    assert len((await stage.door.get("/schedules")).json["schedules"]) == 2
    plan = (await stage.door.get("/scheduler/plan?hours=48")).json["data"]
    assert {slot["schedule"] for slot in plan["slots"]} == {fine["name"]}
    assert plan["capped"], "not all of them are foretold"
    assert (await stage.door.ask("POST", f"/schedules/{odd['id']}/pause")).status == 200
    refused = await stage.door.ask("POST", f"/schedules/{odd['id']}/resume")
    assert_problem(refused, 422, "bad_request")
    assert "no time zone" in refused.json["detail"]


async def test_the_next_five_of_a_rare_line_are_five(plain_door: Front) -> None:
    made = await make(plain_door, cron="@yearly")
    years = [int(one["utc"][:4]) for one in made["next_runs"]]
    assert years == [years[0] + n for n in range(5)]


async def test_of_several_runs_by_hand_that_replace_each_other_one_goes_on(door: Front) -> None:
    made = await make(door, overlap="cancel_running")
    path = f"/schedules/{made['id']}"
    assert (await door.ask("POST", f"{path}/run")).status == 202
    answers = await asyncio.gather(*(door.ask("POST", f"{path}/run") for _ in range(6)))
    assert {answer.status for answer in answers} <= {202, 409}
    assert 202 in [answer.status for answer in answers]
    states = [row.state for row in await door.engine.query("SELECT state FROM jobs ORDER BY id")]
    assert states.count("queued") == 1
    assert set(states) == {"queued", "cancelled"}
    [job, *_others] = await door.engine.query("SELECT public_id FROM jobs ORDER BY id")
    log = await door.ask(
        "GET", f"/jobs/{job.public_id}/logs", headers={"Accept": "application/json"}
    )
    assert "A manual run replaced this run." in str(log.json)


async def test_a_duty_by_hand_that_takes_long_goes_on_without_its_caller(
    plain_door: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule_backend, "SECONDS_FOR_A_DUTY", 0.05)
    let_go, times = asyncio.Event(), 0

    async def slowly() -> str:
        nonlocal times
        times += 1
        await let_go.wait()
        if times == 1:
            raise StoreAway("it does not answer")
        return "Done at last."

    plain_door.backend.schedules.ticker.tasks._tasks = {"cleanup": slowly}
    made = await make(plain_door, payload={"duty": "cleanup"})
    ran = await plain_door.ask("POST", f"/schedules/{made['id']}/run")
    assert (ran.status, ran.json["message"]) == (202, schedule_backend.STILL_RUNNING)
    let_go.set()

    async def told() -> bool:
        [run] = (await plain_door.get(f"/schedules/{made['id']}/runs")).json["runs"]
        return bool(run.get("message") == "Done at last.")

    await until(told, 60, lambda: "it was not told")
