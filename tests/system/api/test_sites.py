"""Sites at the API: declared, scraped at once or in the background; a real board that changes."""

import asyncio
import tomllib
from pathlib import Path
from typing import Any

import pytest

from api.front import Answer, Front, assert_problem, front
from api.visitors import visitor
from curtsy.clock import Clock
from curtsy.demo import postings
from curtsy.demo.practice_site import PracticeSite
from curtsy.jobs import SubmitLimits
from curtsy.model.roles import Role
from curtsy.store import Store
from support.engine import LOOPBACK, engine, until

EXAMPLES = Path(__file__).parents[3] / "examples"
BOARD: dict[str, Any] = tomllib.loads((EXAMPLES / "job_board.toml").read_text())["job_board"]
TRAVEL: dict[str, Any] = tomllib.loads((EXAMPLES / "travel_sites.toml").read_text())
AT_ONCE = {"min_pause_seconds": 0, "max_pause_seconds": 0}
PATIENCE = 90.0
"""Seconds: a source that was just found empty may be left alone for ten of them."""
COUNTED = {name: value for name, value in BOARD["recipe"].items() if name != "next"}
"""Its pages are asked for by their numbers, and not found by following."""


def at(site: PracticeSite, template: str, host: int = 0) -> str:
    """The template, at the practice site that is open here."""
    path = "/" + template.split("/", 3)[3]
    return site.url(host, path)


async def declare(
    door: Front,
    site: PracticeSite,
    name: str = "job_board",
    part: str = "",
    host: int = 0,
    **words: Any,
) -> Answer:
    door.sync_timeout(PATIENCE)
    said = BOARD | {
        "search_url": at(site, BOARD["search_url"], host).replace("/search", f"{part}/search")
    }
    return await door.ask(
        "PUT", f"/sites/{name}", json=said | AT_ONCE | {"interval_minutes": 0} | words
    )


async def scrape(door: Front, mode: str = "sync", **search: Any) -> Answer:
    asked = {"site_name": "job_board", "search_term": "python developer"} | search
    return await door.ask("POST", f"/jobs/scrape?mode={mode}", json=asked)


async def ended(door: Front, run: str) -> Any:
    async def over() -> bool:
        data = (await door.get(f"/jobs/scrape/{run}")).json["data"]
        return data["finished_at"] is not None

    await until(over, PATIENCE, lambda: f"{run} has not ended")
    return (await door.get(f"/jobs/scrape/{run}")).json["data"]


async def test_a_site_is_scraped_at_once_and_the_answer_has_its_records(
    working: Front, board: PracticeSite
) -> None:
    assert (await declare(working, board)).status == 201
    answer = await scrape(working, results_wanted=25)
    assert answer.status == 200, answer
    run = answer.json["data"]
    assert (run["status"], run["trigger"], run["execution_mode"]) == ("succeeded", "manual", "sync")
    assert (run["requested_pages"], run["completed_pages"], run["errors_count"]) == (3, 3, 0)
    assert run["started_at"] < run["finished_at"]
    wanted = postings.matching(postings.edition(0), "python developer", "", False)
    assert [record["id"] for record in run["results"]] == [p.id for p in wanted][:25]
    assert run["results"][0]["title"] == wanted[0].title
    assert {record["_change"] for record in run["results"]} == {"new"}
    assert run["changes"] == {"new": 25, "changed": 0, "same": 0, "removed": 0}
    assert run["message"].startswith("25 records: 25 new, 0 changed, 0 same, 0 removed.")


async def test_in_the_background_a_run_can_be_watched_to_its_end(
    working: Front, board: PracticeSite
) -> None:
    await declare(working, board)
    answer = await scrape(working, "async")
    data = answer.json["data"]
    assert (answer.status, data["status"], data["execution_mode"]) == (200, "queued", "async")
    assert data["run_id"].startswith("manual_")
    run = await ended(working, data["run_id"])
    assert (run["status"], len(run["results"])) == ("succeeded", 15)
    job = (await working.get(f"/jobs/{data['run_id']}")).json
    assert (job["run_id"], job["task_id"], job["site_name"]) == (
        data["run_id"],
        data["task_id"],
        "job_board",
    )
    listed = (await working.get("/jobs")).json["jobs"]
    assert [one["run_id"] for one in listed] == [data["run_id"]]


async def test_no_two_runs_of_a_site_go_on_at_once(door: Front, board: PracticeSite) -> None:
    """Nothing fetches here, so the first run stays open."""
    await declare(door, board)
    answers = await asyncio.gather(*(scrape(door, "async") for _ in range(10)))
    assert sorted(answer.status for answer in answers) == [200] + [409] * 9
    refused = next(answer for answer in answers if answer.status == 409)
    first = next(answer for answer in answers if answer.status == 200).json["data"]["run_id"]
    assert first in refused.json["detail"]
    assert (await door.delete(f"/jobs/{first}")).status == 200
    assert (await scrape(door, "async")).status == 200


async def test_whose_run_goes_on_is_nobody_elses_business(
    guarded: Front, board: PracticeSite
) -> None:
    await declare(guarded, board)
    ann, bob = await visitor(guarded), await visitor(guarded, "bob")
    boss = await visitor(guarded, "boss", Role.OPERATE)
    asked = {"site_name": "job_board", "search_term": "python developer"}
    run = (await ann.ask("POST", "/jobs/scrape", json=asked)).json["data"]["run_id"]
    for one, named in ((ann, True), (boss, True), (bob, False)):
        refused = await one.ask("POST", "/jobs/scrape", json=asked)
        assert_problem(refused, 409, "wrong_state")
        assert (run in refused.json["detail"]) == named


async def test_a_later_run_tells_what_is_new_changed_and_gone(
    working: Front, board: PracticeSite
) -> None:
    everything = {"search_term": "engineer", "results_wanted": 100}
    for edition in (0, 1, 9):
        await declare(working, board, part=f"/{edition}")
        started = await scrape(working, "async", **everything)
        run = await ended(working, started.json["data"]["run_id"])
        assert run["errors_count"] == 0
    found = {change: {r["id"] for r in run["results"] if r["_change"] == change}
             for change in ("new", "changed", "removed")}  # fmt: skip
    before, now = (
        {p.id: p for p in postings.matching(postings.edition(n), "engineer", "", False)}
        for n in (1, 9)
    )
    assert found["new"] == now.keys() - before.keys()
    assert found["changed"] == {
        i for i in now.keys() & before.keys() if now[i].salary != before[i].salary
    }
    assert run["changes"]["removed"] == len(before.keys() - now.keys())
    assert all(found[change] for change in ("new", "changed"))
    told = ", ".join(f"{run['changes'][c]} {c}" for c in ("new", "changed", "same", "removed"))
    ended_early = "The listing ended after 5 pages: 100 were wanted."
    assert run["message"] == f"{len(now)} records: {told}. {ended_early}"
    records = (await working.get("/sites/job_board/records?limit=1000")).json["records"]
    assert {record["record"]["id"] for record in records} >= now.keys() | before.keys()


async def test_a_redesign_is_told_apart_from_an_empty_result(
    working: Front, board: PracticeSite
) -> None:
    await declare(working, board)
    empty = (await scrape(working, search_term="submarine chef")).json["data"]
    assert (empty["status"], empty["results"], empty["errors_count"]) == ("succeeded", [], 0)
    await declare(working, board, part="/broken", host=1)
    broken = (await scrape(working)).json["data"]
    assert (broken["status"], broken["results"], broken["errors_count"]) == ("failed", [], 1)
    assert "may have changed" in broken["message"]
    await declare(working, board, part="/half", host=2)
    half = (await scrape(working)).json["data"]
    assert half["status"] == "failed"
    assert "required field" in half["message"]


async def test_what_was_not_fetched_is_not_called_removed(
    working: Front, board: PracticeSite
) -> None:
    counted = {"recipe": COUNTED, "max_retries": 0}
    await declare(working, board, **counted)
    first = (await scrape(working, results_wanted=25)).json["data"]
    await declare(working, board, part="/flaky", **counted)
    run = (await scrape(working, results_wanted=25)).json["data"]
    assert (run["status"], run["errors_count"]) == ("failed", 1)
    assert run["changes"]["removed"] == 0
    assert 0 < len(run["results"]) < len(first["results"])


async def test_a_run_that_takes_too_long_goes_on_without_its_caller(
    working: Front, board: PracticeSite
) -> None:
    await declare(working, board, min_pause_seconds=0.4, max_pause_seconds=0.4)
    working.sync_timeout(0.3)
    answer = await scrape(working, results_wanted=25)
    assert (answer.status, answer.json["data"]["status"]) == (202, "queued")
    run = await ended(working, answer.json["data"]["run_id"])
    assert (run["status"], len(run["results"])) == ("succeeded", 25)


async def test_the_travel_sites_are_read_and_so_is_the_page_of_a_country(
    working: Front, board: PracticeSite
) -> None:
    for host, (name, words) in enumerate(TRAVEL.items()):
        urls = {key: at(board, words[key], host) for key in ("search_url", "country_url")}
        answer = await working.ask("PUT", f"/sites/{name}", json=words | urls | AT_ONCE)
        assert answer.status == 201, answer
        asked = {"site_name": name}  # as it is declared, with a hundred results
        run = (await working.ask("POST", "/jobs/scrape?mode=sync", json=asked)).json["data"]
        assert (run["status"], len(run["results"])) == ("succeeded", 25), run
        assert all(record["country"] and record["level"] for record in run["results"])
        country = await working.ask(
            "POST", "/jobs/scrape?mode=sync", json=asked | {"country": "France"}
        )
        assert country.json["data"]["status"] == "succeeded", country
        [article] = country.json["data"]["results"]
        assert "France" in article["title"]
        assert (article["url"].endswith("/france"), article["_change"]) == (True, "new")
    listed = (await working.get("/jobs/sites")).json["data"]["sites"]
    assert [site["site_name"] for site in listed] == sorted(TRAVEL)
    assert all("country" in site["search"] and site["next_run_at"] for site in listed)
    assert {site["interval_minutes"] for site in listed} == {120, 720}


async def test_a_site_runs_on_its_schedule_and_not_beside_a_run_by_hand(
    door: Front, board: PracticeSite
) -> None:
    await declare(door, board, interval_minutes=60)
    schedule = (await door.get("/schedules/job_board")).json
    assert schedule["when"] == "every 1 h ± 10 %"
    first = (await door.ask("POST", "/schedules/job_board/run")).json
    assert first["job_id"].startswith("manual_")
    assert (await scrape(door, "async")).status == 409
    await door.engine.execute(
        "UPDATE schedules SET next_fire_at = 5, look_at = 5, window_ms = 1000000000000000"
    )
    await door.ask("POST", "/scheduler/run")
    [slot, *_rest] = (await door.get("/schedules/job_board/runs")).json["runs"][-2:]
    outcomes = {
        one["outcome"] for one in (await door.get("/schedules/job_board/runs")).json["runs"]
    }
    assert slot["outcome"] in ("skipped", "missed")
    assert "skipped" in outcomes
    await door.delete(f"/jobs/{first['job_id']}")
    await door.engine.execute(
        "UPDATE schedules SET next_fire_at = :at, look_at = :at", at=door.engine.clock.now()
    )
    [fired] = (await door.ask("POST", "/scheduler/run")).json["data"]["queued"]
    assert fired["job_id"].startswith("sched_")
    run = (await door.get(f"/jobs/scrape/{fired['job_id']}")).json["data"]
    assert (run["trigger"], run["site_schedule_id"]) == ("schedule", schedule["id"])


async def test_no_schedule_scrapes_a_site_beside_another_run(
    door: Front, board: PracticeSite
) -> None:
    """Neither its own by hand, nor one that somebody made for it, nor that one by hand."""
    await declare(door, board, interval_minutes=60)
    mine = {"name": "mine", "cron": "* * * * *", "overlap": "allow",
            "payload": {"run": {"site_name": "job_board", "search_term": "cook"}}}  # fmt: skip
    assert (await door.ask("POST", "/schedules", json=mine)).status == 201
    run = (await scrape(door, "async")).json["data"]["run_id"]
    for name in ("job_board", "mine"):
        refused = await door.ask("POST", f"/schedules/{name}/run")
        assert_problem(refused, 409, "wrong_state")
        assert run in refused.json["detail"]
    now = door.engine.clock.now()
    await door.engine.execute("UPDATE schedules SET next_fire_at = :at, look_at = :at", at=now)
    await door.ask("POST", "/scheduler/run")
    for name in ("job_board", "mine"):
        [slot, *_missed] = (await door.get(f"/schedules/{name}/runs")).json["runs"]
        assert slot["outcome"] == "skipped", slot
    assert len((await door.get("/jobs")).json["jobs"]) == 1


async def test_its_host_is_paced_as_the_site_says_unless_somebody_described_it(
    door: Front, board: PracticeSite
) -> None:
    await declare(door, board, min_pause_seconds=2, max_pause_seconds=8)
    source = (await door.get("/sources/job_board")).json
    assert (source["said"]["min_delay_seconds"], source["said"]["max_delay_seconds"]) == (2, 8)
    await door.ask("PATCH", "/sources/job_board", json={"min_delay_seconds": 5})
    await declare(door, board, min_pause_seconds=1, max_pause_seconds=1)
    assert (await door.get("/sources/job_board")).json["said"]["min_delay_seconds"] == 5


async def test_forgotten_it_goes_with_its_schedule_and_its_records(
    door: Front, board: PracticeSite
) -> None:
    await declare(door, board, interval_minutes=60)
    assert (await door.delete("/sites/job_board")).status == 200
    assert_problem(await door.get("/sites/job_board"), 404, "not_found")
    assert_problem(await door.get("/schedules/job_board"), 404, "not_found")
    assert_problem(await scrape(door), 404, "not_found")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"search_url": "https://a.example/?q={serch_term}"}, "serch_term"),
        ({"search_url": "https://a.example/?q={search_term!r}"}, "format"),
        ({"search_url": "https://a.example/?q={"}, "template"),
        ({"search_url": "ftp://a.example/"}, "search_url"),
        ({"recipe": {"record": "li[", "fields": {"a": "b"}}}, "never closed"),
        ({"recipe": {"record": "li", "fields": {"a": {"css": "b", "pattern": "("}}}}, "pattern"),
        ({"recipe": {"record": "li"}}, "fields"), ({"max_pages": 0}, "max_pages"),
        ({"interval_minutes": -5}, "minute"),
        ({"interval_minutes": 60, "cron": "@daily"}, "not both"),
        ({"interval_minutes": None, "cron": "0 0 30 2 *"}, "30"),
        ({"min_pause_seconds": 9}, "max_pause_seconds"),
        ({"timezone": "X/Y"}, "X/Y"), ({"interval_minutes": None, "timezone": "X/Y"}, "X/Y"),
        ({"defaults": {"colour": "red"}}, "colour"),
    ],
    ids=str,
)  # fmt: skip
async def test_a_site_that_makes_no_sense_is_refused_with_a_sentence(
    plain_door: Front, words: dict[str, Any], problem: str
) -> None:
    answer = await plain_door.ask("PUT", "/sites/board", json=BOARD | words)
    assert answer.status == 422, answer
    assert problem in str(answer.json), answer.json
    assert (await plain_door.get("/jobs/sites")).json["data"]["sites"] == []


async def test_wrong_searches_are_refused(plain_door: Front) -> None:
    said = BOARD | {"search_url": "https://a.example/?q={search_term}", "defaults": {},
                    "interval_minutes": 0}  # fmt: skip
    assert (await plain_door.ask("PUT", "/sites/job_board", json=said)).status == 201
    many = await scrape(plain_door, results_wanted=26)
    assert_problem(many, 422, "bad_request")
    assert "at most 25" in many.json["detail"]
    asked = {"site_name": "job_board"}
    silent = await plain_door.ask("POST", "/jobs/scrape", json=asked)
    assert_problem(silent, 422, "bad_request")
    assert "needs search_term" in silent.json["detail"]
    assert_problem(
        await plain_door.ask("POST", "/jobs/scrape", json={"site_name": "x"}), 404, "not_found"
    )
    assert_problem(await plain_door.ask("PUT", "/sites/Not A Name", json=said), 422, "bad_request")


async def test_what_is_gone_is_told_beside_the_results_that_were_wanted(
    working: Front, board: PracticeSite
) -> None:
    """Its six numbered pages reach the end of the listing."""
    few = {"search_term": "data", "results_wanted": 6}
    for edition in (0, 9):
        one_a_page = {"recipe": COUNTED, "results_per_page": 1}
        await declare(working, board, part=f"/{edition}", **one_a_page)
        run = (await scrape(working, **few)).json["data"]
    changes = [record["_change"] for record in run["results"]]
    assert len(changes) == 6 + run["changes"]["removed"]
    assert changes.count("removed") == run["changes"]["removed"] > 0


async def test_what_new_records_pushed_to_the_next_page_is_not_called_removed(
    working: Front, board: PracticeSite
) -> None:
    for edition in (0, 1):
        await declare(working, board, part=f"/{edition}")
        run = (await scrape(working, search_term="engineer", results_wanted=10)).json["data"]
    assert run["changes"]["new"] > 0
    assert run["changes"]["removed"] == 0


async def test_a_run_whose_failures_are_retried_tells_of_what_came_then(
    working: Front, board: PracticeSite
) -> None:
    await declare(working, board, part="/flaky", recipe=COUNTED, max_retries=0)
    first = (await scrape(working, results_wanted=25)).json["data"]
    assert (first["status"], first["errors_count"], len(first["results"])) == ("failed", 1, 18)
    await working.engine.execute(
        "UPDATE pages SET url = replace(url, '/flaky/', '/'), fingerprint = 'moved' "
        "WHERE id IN (SELECT page_id FROM items WHERE state = 2)"
    )
    await working.ask("POST", f"/jobs/{first['run_id']}/retry")
    again = await ended(working, first["run_id"])
    assert (again["status"], again["errors_count"], len(again["results"])) == ("succeeded", 0, 25)
    assert again["results"][:18] == first["results"], "what was told stays as it was"
    assert "failed" not in again["message"]


async def test_other_pauses_hold_and_what_somebody_said_of_the_host_stays(
    door: Front, board: PracticeSite
) -> None:
    await declare(door, board, min_pause_seconds=2, max_pause_seconds=8)
    await declare(door, board, min_pause_seconds=60, max_pause_seconds=120)
    said = (await door.get("/sources/job_board")).json["said"]
    assert (said["min_delay_seconds"], said["max_delay_seconds"]) == (60, 120)


async def test_declared_anew_a_site_keeps_what_was_changed_of_its_schedule(
    door: Front, board: PracticeSite
) -> None:
    await declare(door, board, interval_minutes=60)
    await door.ask("PATCH", "/schedules/job_board", json={"overlap": "queue_one", "enabled": False})
    await declare(door, board, interval_minutes=90)
    kept = (await door.get("/schedules/job_board")).json
    assert (kept["every_minutes"], kept["overlap"], kept["enabled"]) == (90, "queue_one", False)
    renamed = await door.ask("PATCH", "/schedules/job_board", json={"name": "board"})
    assert_problem(renamed, 422, "bad_request")


async def test_a_schedule_of_a_site_that_was_declared_anew_has_to_be_said_again(
    door: Front, board: PracticeSite
) -> None:
    await declare(door, board)
    run = {"run": {"site_name": "job_board", "search_term": "cook"}}
    mine = {"name": "mine", "cron": "* * * * *", "payload": run}
    await door.ask("POST", "/schedules", json=mine)
    await door.delete("/sites/job_board")
    await declare(door, board)
    refused = await door.ask("POST", "/schedules/mine/run")
    assert_problem(refused, 422, "bad_request")
    assert "was deleted and declared again" in refused.json["detail"]
    assert (await door.ask("PATCH", "/schedules/mine", json={"payload": run})).status == 200
    assert (await door.ask("POST", "/schedules/mine/run")).status == 202


async def test_a_site_whose_slots_would_be_refused_is_refused(plain_door: Front) -> None:
    said = BOARD | {"defaults": {}, "search_url": "https://a.example/?q={search_term}"}
    for words, problem in (
        ({}, "needs search_term"), ({"scraper": "raw"}, "finds no records"),
        ({"scraper": "mine", "recipe": None, "defaults": {"search_term": "x"}}, "no scraper"),
    ):  # fmt: skip
        answer = await plain_door.ask("PUT", "/sites/board", json=said | words)
        assert answer.status == 422, answer
        assert problem in str(answer.json)
    assert_problem(await plain_door.get("/sites/board"), 404, "not_found")


async def test_a_page_of_a_country_needs_what_its_template_names(plain_door: Front) -> None:
    said = BOARD | {"country_url": "https://a.example/{country}/{search_term}", "defaults": {},
                    "interval_minutes": 0}  # fmt: skip
    await plain_door.ask("PUT", "/sites/board", json=said)
    asked = {"site_name": "board", "country": "France"}
    answer = await plain_door.ask("POST", "/jobs/scrape", json=asked)
    assert_problem(answer, 422, "bad_request")
    assert "needs search_term" in answer.json["detail"]


async def test_how_urgent_a_run_is_makes_no_other_search_of_it(
    door: Front, board: PracticeSite
) -> None:
    await declare(door, board)
    for priority in (1, 9):
        run = (await scrape(door, "async", priority=priority)).json["data"]["run_id"]
        await door.delete(f"/jobs/{run}")
    rows = await door.engine.query("SELECT DISTINCT search FROM jobs")
    assert len(rows) == 1


async def test_where_too_much_waits_a_run_is_refused_as_any_job_is(
    store: Store, clock: Clock, board: PracticeSite
) -> None:
    few = SubmitLimits(pending=2, allow=LOOPBACK)
    async with front(store, engine(store, clock), few) as door:
        await declare(door, board, interval_minutes=60, recipe=COUNTED)
        for asked in (scrape(door, "async", results_wanted=25), scrape(door, results_wanted=25)):
            refused = await asked
            assert_problem(refused, 429, "over_limit")
            assert refused.json["detail"] == "3 pages would wait; the limit is 2."
            assert int(refused.headers["retry-after"]) > 0
        by_hand = await door.ask("PATCH", "/schedules/job_board", json={"payload": {"run": {
            "site_name": "job_board", "results_wanted": 25}}})  # fmt: skip
        assert by_hand.status == 200
        assert_problem(await door.ask("POST", "/schedules/job_board/run"), 429, "over_limit")
        assert (await scrape(door, "async", results_wanted=10)).status == 200


async def test_a_site_whose_zone_is_not_known_any_more_can_be_seen(plain_door: Front) -> None:
    said = BOARD | {"cron": "@daily", "timezone": "Europe/Oslo", "interval_minutes": None}
    await plain_door.ask("PUT", "/sites/board", json=said)
    await plain_door.engine.execute(
        "UPDATE sites SET declared = replace(declared, 'Oslo', 'Nowhere')"
    )
    [site] = (await plain_door.get("/jobs/sites")).json["data"]["sites"]
    assert site["site_name"] == "board"
    assert (await plain_door.get("/sites/board")).json["declared"]["timezone"] == "Europe/Nowhere"


async def test_a_site_that_is_not_understood_any_more_is_refused_until_it_is_declared_again(
    plain_door: Front,
) -> None:
    """By an upgrade, say. The others are listed and run."""
    for name in ("board", "other"):
        said = BOARD | {"search_url": f"https://{name}.example/?q={{search_term}}"}
        await plain_door.ask("PUT", f"/sites/{name}", json=said)
    old = '{"search_url": 1}'
    await plain_door.engine.execute(
        "UPDATE sites SET declared = :old WHERE name = 'board'", old=old
    )
    sites = (await plain_door.get("/jobs/sites")).json["data"]["sites"]
    assert [site["site_name"] for site in sites] == ["other"]
    assert (await plain_door.get("/sites/board")).json["declared"] == {"search_url": 1}
    for door in ("/jobs/scrape", "/jobs/scrape?mode=sync"):
        refused = await plain_door.ask("POST", door, json={"site_name": "board"})
        assert_problem(refused, 422, "bad_request")
        assert "is not valid any more" in refused.json["detail"]
    assert_problem(await plain_door.ask("POST", "/schedules/board/run"), 422, "bad_request")
    said = BOARD | {"search_url": "https://board.example/?q={search_term}"}
    assert (await plain_door.ask("PUT", "/sites/board", json=said)).status == 200
    assert (await plain_door.ask("POST", "/schedules/board/run")).status == 202
