"""A run of a site, from Python: its records, and how far it is."""

from api.front import Front
from api.test_sites import PATIENCE, declare
from client.test_client import in_thread
from curtsy import AsyncClient, Client
from curtsy.client import Status
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
