"""What a declaration makes of a site: its schedule, how its host is paced, what it may be told."""

from typing import Any

import pytest

from api.front import Answer, Front, assert_problem
from api.visitors import visitor
from curtsy.model.roles import Role

RECIPE = {"record": "li", "fields": {"id": "b"}, "key": ["id"]}
SITE: dict[str, Any] = {"search_url": "https://a.example/?q={search_term}&l={location}",
                        "recipe": RECIPE, "defaults": {"search_term": "cook"}}  # fmt: skip


async def put(door: Front, name: str = "board", **words: Any) -> Answer:
    return await door.ask("PUT", f"/sites/{name}", json=SITE | words)


async def declared(door: Front, name: str = "board", **words: Any) -> None:
    answer = await put(door, name, **words)
    assert answer.status in (200, 201), answer


async def listed(door: Front) -> dict[str, Any]:
    sites = (await door.get("/jobs/sites")).json["data"]["sites"]
    assert len({site["site_name"] for site in sites}) == len(sites)
    return {site["site_name"]: site for site in sites}


@pytest.mark.parametrize(
    ("words", "minutes"),
    [
        ({}, 60),
        ({"interval_minutes": None}, 60),
        ({"interval_minutes": 90}, 90),
        ({"interval_minutes": 0}, None),
        ({"defaults": {}}, None),
        ({"search_url": "https://a.example/", "defaults": {}}, 60),
        ({"cron": "@daily"}, None),
    ],
    ids=str,
)
async def test_a_site_is_scraped_every_hour_if_it_can_be_and_says_nothing_else(
    plain_door: Front, words: dict[str, Any], minutes: int | None
) -> None:
    await declared(plain_door, **words)
    site = (await listed(plain_door))["board"]
    assert (site["interval_minutes"], site["cron"]) == (minutes, words.get("cron"))
    assert (site["site_schedule_id"] is None) == (minutes is None and "cron" not in words)


async def test_a_schedule_whose_runs_would_be_refused_is_refused(plain_door: Front) -> None:
    for when in ({"interval_minutes": 60}, {"cron": "@daily"}):
        refused = await put(plain_door, defaults={}, **when)
        assert_problem(refused, 422, "bad_request")
        assert refused.json["detail"] == "The site board needs search_term."


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"scraper": "magic", "recipe": None}, "no scraper 'magic'"),
        ({"search_url": "http://10.0.0.1/?q={search_term}"}, "10.0.0.1"),
        ({"country_url": "http://10.0.0.1/{country}"}, "10.0.0.1"),
        ({"search_url": "https://{location}.example/"}, "a field in its host"),
        ({"search_url": "https://a.example:80{page}/"}, "a field in its host"),
        ({"defaults": {"search_term": "cook", "country": "France"}}, "searched by country"),
    ],
    ids=str,
)
@pytest.mark.parametrize("by_hand", [{"interval_minutes": 0}, {}], ids=["by hand", "hourly"])
async def test_a_site_that_could_not_be_scraped_is_refused_also_by_hand(
    plain_door: Front, words: dict[str, Any], by_hand: dict[str, Any], problem: str
) -> None:
    refused = await put(plain_door, **words, **by_hand)
    assert refused.status == 422, refused
    assert problem in str(refused.json)
    assert await listed(plain_door) == {}


async def test_a_site_that_is_not_enabled_may_be_declared(plain_door: Front) -> None:
    await declared(plain_door, enabled=False)
    assert (await plain_door.get("/schedules/board")).json["state"] == "paused"
    await declared(plain_door, enabled=True)
    assert (await plain_door.get("/schedules/board")).json["state"] == "waiting"


async def test_its_schedule_runs_it_and_nothing_else(door: Front) -> None:
    await declared(door)
    await declared(door, "other", search_url="https://b.example/?q={search_term}")
    for payload in ({"run": {"site_name": "other"}}, {"fetch": {"url": "https://a.example/"}}):
        refused = await door.ask("PATCH", "/schedules/board", json={"payload": payload})
        assert_problem(refused, 422, "bad_request")
        assert "it can only run that site" in refused.json["detail"]
    mine = {"run": {"site_name": "board", "location": "Oslo"}}
    assert (await door.ask("PATCH", "/schedules/board", json={"payload": mine})).status == 200
    await declared(door, interval_minutes=90)
    kept = (await door.get("/schedules/board")).json
    assert (kept["every_minutes"], kept["payload"]) == (90, mine), "what somebody said stays"
    await declared(door, search_url="https://a.example/?q={search_term}")
    plain = (await door.get("/schedules/board")).json["payload"]
    assert plain == {"run": {"site_name": "board"}}, "it can be searched by location no more"


async def test_what_is_said_of_its_schedule_is_what_the_list_of_sites_says(door: Front) -> None:
    await declared(door)
    await door.ask("PATCH", "/schedules/board", json={"every_minutes": 120})
    assert (await listed(door))["board"]["interval_minutes"] == 120
    await door.ask("PATCH", "/schedules/board", json={"cron": "@daily"})
    site = (await listed(door))["board"]
    assert (site["interval_minutes"], site["cron"]) == (None, "@daily")


async def test_a_declaration_that_does_not_say_when_leaves_a_timetable_that_was_changed(
    door: Front,
) -> None:
    await declared(door)
    for changed in ({"cron": "0 6 * * *", "timezone": "Europe/Berlin"}, {"every_minutes": 120}):
        await door.ask("PATCH", "/schedules/board", json=changed)
        await declared(door, max_retries=1)
        kept = (await door.get("/schedules/board")).json
        assert {name: kept[name] for name in changed} == changed
    await declared(door, interval_minutes=90)
    assert (await listed(door))["board"]["interval_minutes"] == 90, "what it says holds"
    await declared(door)
    assert (await listed(door))["board"]["interval_minutes"] == 60, (
        "and so does that it says no more"
    )


async def test_a_declaration_takes_nobody_elses_schedule_that_has_the_name(door: Front) -> None:
    await declared(door, interval_minutes=0)
    mine = {"name": "board", "cron": "@daily", "payload": {"run": {"site_name": "board"}}}
    made = (await door.ask("POST", "/schedules", json=mine)).json
    await declared(door, interval_minutes=0)
    await declared(door)
    assert (await door.get("/schedules/board")).json["id"] == made["id"]
    assert (await listed(door))["board"]["site_schedule_id"] is None
    taken = await put(door, interval_minutes=90)
    assert_problem(taken, 409, "wrong_state")
    await door.delete("/sites/board")
    assert (await door.get("/schedules/board")).json["id"] == made["id"]


async def test_a_site_is_listed_once_whoever_has_a_schedule_of_its_name(guarded: Front) -> None:
    chief = await visitor(guarded, "chief", Role.ADMIN)
    assert (await chief.ask("PUT", "/sites/board", json=SITE)).status == 201
    ann = await visitor(guarded)
    mine = {"name": "board", "cron": "@daily", "payload": {"run": {"site_name": "board"}}}
    assert (await ann.ask("POST", "/schedules", json=mine)).status == 201
    [site] = (await chief.ask("GET", "/jobs/sites")).json["data"]["sites"]
    assert site["interval_minutes"] == 60


async def test_its_pauses_hold_also_where_its_name_is_that_of_another_source(door: Front) -> None:
    far = {"hosts": ["far.example"], "min_delay_seconds": 1}
    assert (await door.ask("PUT", "/sources/board", json=far)).status == 201
    await declared(door, min_pause_seconds=5, max_pause_seconds=6)
    assert (await door.get("/sources/board")).json["hosts"] == ["far.example"]
    source = (await door.get("/sources/a.example")).json
    said = source["said"]
    assert (said["min_delay_seconds"], said["max_delay_seconds"]) == (5, 6)
    await declared(door, min_pause_seconds=7, max_pause_seconds=8)
    assert (await door.get("/sources/a.example")).json["said"]["min_delay_seconds"] == 7


async def test_where_no_name_is_left_for_its_host_it_is_refused(plain_door: Front) -> None:
    for name in ("board", "intranet"):
        said = {"hosts": [f"{name}.example"]}
        assert (await plain_door.ask("PUT", f"/sources/{name}", json=said)).status == 201
    refused = await put(plain_door, search_url="https://intranet/?q={search_term}")
    assert_problem(refused, 422, "bad_request")
    assert "neither has intranet" in refused.json["detail"]


async def test_a_site_of_another_on_the_same_host_changes_nothing_of_its_pauses(
    door: Front,
) -> None:
    await declared(door)
    await declared(door, "other")
    await declared(door, "other", min_pause_seconds=0, max_pause_seconds=0)
    assert (await door.get("/sources/board")).json["said"]["min_delay_seconds"] == 2


@pytest.mark.parametrize(
    ("search", "problem"),
    [
        ({"country": "France"}, "cannot be searched by country: it takes search_term, location, "),
        ({"is_remote": True}, "cannot be searched by is_remote"),
        ({"is_remote": False}, None),
        ({"location": "Oslo", "results_wanted": 3}, None),
    ],
    ids=str,
)
async def test_what_a_site_cannot_be_searched_by_is_refused(
    plain_door: Front, search: dict[str, Any], problem: str | None
) -> None:
    await declared(plain_door)
    answer = await plain_door.ask("POST", "/jobs/scrape", json={"site_name": "board"} | search)
    assert answer.status == (200 if problem is None else 422), answer
    assert problem is None or problem in answer.json["detail"]


async def test_a_run_says_in_which_mode_it_was_asked_for(door: Front) -> None:
    await declared(door)
    door.sync_timeout(0.1)
    for mode in ("sync", "async"):
        started = await door.ask("POST", f"/jobs/scrape?mode={mode}", json={"site_name": "board"})
        run = started.json["data"]["run_id"]
        assert (await door.get(f"/jobs/scrape/{run}")).json["data"]["execution_mode"] == mode
        await door.delete(f"/jobs/{run}")


async def test_what_is_searched_for_stays_in_its_place_in_the_path(door: Front) -> None:
    url = "https://a.example/jobs/{location}{search_term}/list?q={search_term}"
    await declared(door, search_url=url, interval_minutes=0)
    asked = {"site_name": "board", "search_term": "../a b+c"}
    run = (await door.ask("POST", "/jobs/scrape", json=asked)).json["data"]["run_id"]
    [page] = await door.engine.query("SELECT url FROM pages")
    assert page.url == "https://a.example/jobs/..%2Fa%20b%2Bc/list?q=..%2Fa+b%2Bc"
    await door.delete(f"/jobs/{run}")
    for away in ({"search_term": ".."}, {"search_term": ".", "location": "."}):
        refused = await door.ask("POST", "/jobs/scrape", json=asked | away)
        assert_problem(refused, 422, "bad_request")
        assert "cannot be '.' or '..'" in refused.json["detail"]
