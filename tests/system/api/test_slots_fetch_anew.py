"""What a slot asks for is fetched anew, unless its payload says that what is stored will do."""

from typing import Any

import pytest

from api.stage import Stage, story

URL = "https://a.example/"
SLOTS = 4
ARTICLES: dict[str, Any] = {"articles": [{"url": URL}]}
CRAWL: dict[str, Any] = {"spider": "article", "start_urls": [URL]}
A_DAY = 24 * 3_600


@pytest.mark.parametrize(
    ("payload", "anew"),
    [
        ({"articles": ARTICLES}, True),
        ({"articles": ARTICLES | {"max_age": A_DAY}}, False),
        ({"articles": ARTICLES | {"ignore_cache": False}}, False),
        ({"crawl": CRAWL}, True),
        ({"crawl": CRAWL | {"params": {"max_age": A_DAY}}}, False),
        ({"crawl": CRAWL | {"ignore_cache": True}}, True),
        ({"fetch": {"url": URL}}, True),
    ],
    ids=str,
)
async def test_every_slot_fetches_and_so_it_is_foretold(
    stage: Stage, payload: dict[str, Any], anew: bool
) -> None:
    stage.at("2026-03-27T12:00:00Z")
    stage.script.pages[URL] = story("A Map Sold Twice")
    hourly = {"name": "hourly", "cron": "0 * * * *", "payload": payload}
    assert (await stage.door.ask("POST", "/schedules", json=hourly)).status == 201
    plan = (await stage.door.get(f"/scheduler/plan?hours={SLOTS}")).json["data"]
    for hour in range(13, 13 + SLOTS):
        stage.at(f"2026-03-27T{hour}:00:00Z")
        await stage.door.ask("POST", "/scheduler/run")
        stage.at(f"2026-03-27T{hour}:00:05Z")
        await stage.fetch()
    rows = await stage.door.engine.query("SELECT cached, state FROM jobs ORDER BY id")
    assert [row.state for row in rows] == ["succeeded"] * SLOTS
    cached = [0] * SLOTS if anew else [0] + [1] * (SLOTS - 1)
    assert [row.cached for row in rows] == cached
    assert [slot["pages"] for slot in plan["slots"]] == [1 - was for was in cached]


async def test_so_does_a_crawl_that_is_asked_for_again_and_again(stage: Stage) -> None:
    """Its period is the time for which the same crawl, asked for by hand, is the same job."""
    stage.at("2026-03-27T12:00:00Z")
    stage.script.pages[URL] = story("A Map Sold Twice")
    asked = await stage.door.ask("POST", "/crawl", json=CRAWL | {"interval": "0 * * * *"})
    assert asked.status == 202
    for hour in range(13, 13 + SLOTS):
        stage.at(f"2026-03-27T{hour}:00:00Z")
        await stage.door.ask("POST", "/scheduler/run")
        stage.at(f"2026-03-27T{hour}:00:05Z")
        await stage.fetch()
    assert stage.script.asked == [URL] * SLOTS
