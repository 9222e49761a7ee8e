"""What comes late of a page that was purged is nobody's, whatever was asked for since."""

import asyncio

from api.conftest import Site
from api.front import Front
from support.engine import until


async def test_the_answer_for_a_purged_page_is_not_given_to_the_next(
    working: Front, site: Site
) -> None:
    old, new = site.has("/old", b"old", "text/plain"), site.has("/new", b"new", "text/plain")
    site.held["/old"] = asyncio.Event()
    purged = (await working.submit(old)).json["id"]

    async def is_asked_for() -> bool:
        return "/old" in site.asked

    await until(is_asked_for, 30, lambda: "it was not asked for")
    assert (await working.delete(f"/jobs/{purged}?purge=true")).status == 200
    job = (await working.submit(new)).json["id"]
    site.held["/old"].set()
    found = await working.ended(job)
    assert (found["content"], found["status"]) == ("new", "completed")
    again = await working.ended((await working.submit(new, max_age=3600)).json["id"])
    assert again["content"] == "new", "and what is kept of it is its own"
    assert site.asked == ["/old", "/new"]


async def test_no_number_is_given_out_again(working: Front, site: Site) -> None:
    """Of a dead letter, by which it is asked for, of a job, its page, and its webhook."""
    numbers: dict[str, set[int]] = {}
    for n in range(2):
        body = {"articles": [{"url": site.fails(f"/{n}", 410)}], "webhook_url": f"{site.url}/hook"}
        job = (await working.ask("POST", "/jobs/submit", json=body)).json["job_id"]
        await working.engine.ended(job)
        for table in ("dead_letters", "jobs", "pages", "webhook_deliveries"):
            [row] = await working.engine.query(f"SELECT id FROM {table}")
            numbers.setdefault(table, set()).add(row.id)
        assert (await working.delete(f"/jobs/{job}?purge=true")).status == 200
    assert {table: len(given) for table, given in numbers.items()} == dict.fromkeys(numbers, 2)
