"""A run of a site, from Python: its records, and how far it is."""

from typing import Any

import pytest

from api.front import Front
from api.test_sites import PATIENCE, declare
from client.test_client import in_thread
from curtsy import AsyncClient, Client
from curtsy.client import Declined, Status
from curtsy.demo import postings
from curtsy.demo.practice_site import PracticeSite

SEARCH = {"search_term": "python developer", "results_wanted": 25}


async def test_a_run_is_waited_for_and_its_records_are_read(
    working: Front, board: PracticeSite
) -> None:
    await declare(working, board)
    seen: list[Status] = []
    async with AsyncClient(working.url) as client:
        run = await client.scrape_source("job_board", **SEARCH)
        status = await run.wait(PATIENCE, progress=seen.append)
        found = [record async for record in run.results()]
        assert await run.get(PATIENCE) == found
    wanted = postings.matching(postings.edition(0), "python developer", "", False)
    assert [record["id"] for record in found] == [posting.id for posting in wanted][:25]
    assert {record["_change"] for record in found} == {"new"}
    assert (status.state, status.completed, status.failed, status.total) == ("succeeded", 3, 0, 3)
    assert [one.total for one in seen] == sorted(one.total for one in seen), "it grows"
    assert seen[-1].total == 3


async def test_the_same_run_without_an_event_loop(working: Front, board: PracticeSite) -> None:
    await declare(working, board, part="/broken")

    def program() -> tuple[Status, list[object]]:
        with Client(working.url) as client:
            run = client.scrape_source("job_board", **SEARCH)
            return run.wait(PATIENCE), run.get(PATIENCE)

    status, found = await in_thread(program)
    assert (status.state, status.completed, status.failed) == ("failed", 0, 1)
    assert found == []


async def test_celerys_priorities_are_converted_for_both_clients(idle: Front) -> None:
    """As the operations document calls them: `scrape_source.delay(…, priority=8)`."""
    recipe = {"record": "li", "fields": {"title": "a"}}
    spec = {"search_url": "http://b.example/", "country_url": "http://b.example/{country}",
            "recipe": recipe, "interval_minutes": 0}  # fmt: skip
    for name in ("us_state_dept", "uk_foreign_office", "canada_travel"):
        assert (await idle.ask("PUT", f"/sites/{name}", json=spec)).status == 201
    async with AsyncClient(idle.url) as client:
        runs = [await client.scrape_source("us_state_dept", priority=8)]
        with pytest.raises(ValueError, match="priority is 10: it must be from 0"):
            await client.scrape_source("canada_travel", priority=10)

    def program() -> None:
        with Client(idle.url) as client:
            runs.append(client.scrape_country("uk_foreign_office", "france", priority=9))  # type: ignore[arg-type]
            runs.append(client.scrape_source("canada_travel"))  # type: ignore[arg-type]

    await in_thread(program)
    found = await idle.engine.query(
        "SELECT j.public_id, i.priority, p.url FROM jobs j JOIN items i ON i.job_id = j.id "
        "JOIN pages p ON p.id = i.page_id ORDER BY j.id"
    )
    assert [(row.public_id, row.priority) for row in found] == [
        (runs[0].id, 2), (runs[1].id, 1), (runs[2].id, 5)
    ]  # fmt: skip
    assert found[1].url.endswith("/france")


async def test_limits_of_a_source_are_adjusted_by_both_clients(idle: Front) -> None:
    """As the operations document calls it: `adjust_rate_limits('us_state_dept', …)`."""
    described = {"hosts": ["travel.example"], "requests_per_hour": 60, "burst_limit": 10}
    assert (await idle.ask("PUT", "/sources/us_state_dept", json=described)).status == 201
    async with AsyncClient(idle.url) as client:
        changed = await client.adjust_rate_limits(
            "us_state_dept", requests_per_hour=80, min_delay_seconds=2.0
        )
        assert changed["said"] == {
            "requests_per_hour": 80, "burst_limit": 10, "min_delay_seconds": 2.0
        }  # fmt: skip
        with pytest.raises(Declined, match="no_such_source"):
            await client.adjust_rate_limits("no_such_source", requests_per_hour=1)

    def program() -> dict[str, Any]:
        with Client(idle.url) as client:
            return client.adjust_rate_limits("us_state_dept", requests_per_hour=90)

    assert (await in_thread(program))["said"]["requests_per_hour"] == 90
