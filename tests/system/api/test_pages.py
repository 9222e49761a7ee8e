"""A page through the API: how it stands, and what was tried."""

import re

import pytest

from api.conftest import Site
from api.front import Front, assert_problem
from api.visitors import visitor
from curtsy.clock import HOUR
from curtsy.model.roles import Role
from curtsy.politeness.policy import Policy
from support.engine import settings, until


async def page_of(door: Front, url: str) -> str:
    [row] = await door.engine.query("SELECT id FROM pages WHERE url = :url", url=url)
    return f"art_{row.id:x}"


async def test_a_page_that_was_fetched(door: Front, site: Site) -> None:
    url = site.has("/page", b"hello", "text/plain")
    async with door.engine.worker():
        for _ in range(2):
            await door.ended((await door.submit(url)).json["id"])
    page = (await door.get(f"/pages/{await page_of(door, url)}")).json
    assert (page["status"], page["state"]) == ("SCRAPED", "success")
    assert (page["url"], page["scraper"], page["document_version"]) == (url, "raw", 1)
    assert (page["reference_count"], page["retry_count"]) == (2, 0)
    assert "error_message" not in page
    assert [(a["turn"], a["outcome"], a["status"]) for a in page["history"]] == [
        (2, "fetched", 200), (1, "fetched", 200),
    ]  # fmt: skip
    assert page["history"][0]["bytes"] == 5
    assert re.fullmatch(r"w_[0-9a-f]{12}", page["history"][0]["worker"])


async def test_a_page_from_its_submit_to_its_end(door: Front, site: Site) -> None:
    url = site.fails("/page", 500)
    job = (await door.submit(url)).json["id"]
    name = await page_of(door, url)
    waiting = (await door.get(f"/pages/{name}")).json
    assert (waiting["status"], waiting["state"], waiting["history"]) == ("PENDING", "pending", [])
    policy = Policy(min_delay=5, max_retries=1, retry_base=HOUR, retry_cap=HOUR)
    async with door.engine.worker(settings(policy)):

        async def tried() -> bool:
            return bool((await door.get(f"/pages/{name}")).json["history"])

        await until(tried, 10, lambda: "it was not tried")
        again = (await door.get(f"/pages/{name}")).json
        assert (again["status"], again["state"]) == ("PENDING", "retry")
        assert again["error_message"] == "The host answered 500 Internal Server Error."
        assert (again["error_kind"], again["retry_count"]) == ("server_error", 1)
        assert again["due_at"] > again["checked_at"]
        await door.engine.execute("UPDATE visits SET due_at = 1")
        await door.engine.execute("UPDATE sources SET ready_at = 1")
        await door.ended(job)
    ended = (await door.get(f"/pages/{name}")).json
    assert (ended["status"], ended["state"]) == ("FAILED", "dead_letter")
    assert len(ended["history"]) == 2


async def test_a_page_that_nobody_waits_for_any_more(door: Front, site: Site) -> None:
    url = site.has("/page", b"", "text/plain")
    job = (await door.submit(url)).json["id"]
    await door.delete(f"/jobs/{job}")
    page = (await door.get(f"/pages/{await page_of(door, url)}")).json
    assert (page["status"], page["state"]) == ("CANCELLED", "cancelled")


@pytest.mark.parametrize("name", ["art_1", "art_", "1", "art_xyz", "art_ffffffffffffffffff", "%00"])
async def test_a_page_that_does_not_exist(plain_door: Front, name: str) -> None:
    assert_problem(await plain_door.get(f"/pages/{name}"), 404, "not_found")


async def test_who_sees_only_their_own_sees_nothing_of_others_in_a_page(
    door: Front, site: Site
) -> None:
    """Not how many asked for it, nor what was tried before they did."""
    url = site.fails("/page", 410)
    ann, bob = await visitor(door, "ann"), await visitor(door, "bob")
    operator = await visitor(door, "eve", Role.OPERATE)
    name = None
    async with door.engine.worker():
        for one in (ann, bob, bob):
            job = await one.job(url)
            await door.engine.ended(job)
            name = name or await page_of(door, url)
    seen = [(await one.get(f"/pages/{name}")).json for one in (ann, bob, operator)]
    assert [[a["turn"] for a in page["history"]] for page in seen] == [[3, 2, 1], [3, 2], [3, 2, 1]]
    hers, his, all_of_it = seen
    assert all_of_it["reference_count"] == 3
    assert all(attempt["worker"] for attempt in all_of_it["history"])
    for page in (hers, his):
        assert "reference_count" not in page
        assert not [a for a in page["history"] if "worker" in a or "traceback" in a]
