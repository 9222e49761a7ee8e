from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

from api.front import Front, assert_problem
from curtsy.api.words import FILTERS

MANY_JOBS = """
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :many)
    INSERT INTO jobs (public_id, door, scraper, state, total, failed, created_at, updated_at)
    SELECT 'job_many' || n, 'fetch', 'raw', 'failed', 1, 1, n, n FROM numbers
"""
THEIR_ITEMS = """
    INSERT INTO items (job_id, position, page_id, state, priority, error)
    SELECT id, 0, (SELECT min(id) FROM pages), 2, 5, 'no.' FROM jobs WHERE state = 'failed'
"""


async def _submitted(door: Front, many: int) -> list[str]:
    return [(await door.submit(f"http://example.com/{n}")).json["id"] for n in range(many)]


async def test_the_newest_job_is_listed_first(door: Front) -> None:
    made = await _submitted(door, 5)
    body = (await door.get("/jobs/?limit=2&skip=1")).json
    assert [job["id"] for job in body.pop("jobs")] == [made[3], made[2]]
    onward = (await door.get(f"/jobs?cursor={body.pop('next_cursor')}")).json
    assert [job["id"] for job in onward["jobs"]] == [made[1], made[0]]
    assert "next_cursor" not in onward
    assert body == {"total": 5, "total_is_capped": False, "limit": 2, "skip": 1}


async def test_a_listed_job_says_what_it_is(plain_door: Front) -> None:
    [made] = await _submitted(plain_door, 1)
    [job] = (await plain_door.get("/jobs")).json["jobs"]
    assert job.pop("created_at").endswith("Z")
    assert job == {"id": made, "url": "http://example.com/0", "status": "queued", "door": "fetch",
                   "state": "queued"}  # fmt: skip


async def test_jobs_are_filtered_by_words_of_the_door_and_of_the_engine(door: Front) -> None:
    made = await _submitted(door, 3)
    await door.delete(f"/jobs/{made[1]}")
    waiting, cancelled = [made[2], made[0]], [made[1]]
    found = {"queued": waiting, "IN_PROGRESS": waiting, "pending": waiting,
             "cancelled": cancelled, "CANCELLED": cancelled}  # fmt: skip
    for word in FILTERS:
        body = (await door.get(f"/jobs?status_filter={word}")).json
        assert [job["id"] for job in body["jobs"]] == found.get(word, [])
        assert body["total"] == len(found.get(word, []))


async def test_the_total_is_counted_up_to_its_cap(door: Front) -> None:
    await _submitted(door, 1)
    await door.engine.tell(MANY_JOBS, many=1_001)
    await door.engine.tell(THEIR_ITEMS)
    for path in ("/jobs?limit=1000", "/jobs?limit=1000&status_filter=error"):
        body = (await door.get(path)).json
        assert (body["total"], body["total_is_capped"]) == (1_000, True)
        assert len(body["jobs"]) == 1000
    last = (await door.get("/jobs?status_filter=failed&limit=2&skip=1000")).json["jobs"]
    assert [job["id"] for job in last] == ["job_many1"]


async def test_a_list_that_cannot_be_shown_is_refused(plain_door: Front) -> None:
    for wrong in ("limit=0", "limit=1001", "skip=-1", f"skip={10**20}", "status_filter=x"):
        assert_problem(await plain_door.get(f"/jobs?{wrong}"), 422, "bad_request")


async def test_a_longer_list_costs_no_more_statements(door: Front) -> None:
    await _submitted(door, 2)
    with _statements() as for_two:
        await door.get("/jobs")
    await _submitted(door, 28)
    with _statements() as for_thirty:
        assert len((await door.get("/jobs")).json["jobs"]) == 30
    assert len(for_two) == len(for_thirty) <= 5


@contextmanager
def _statements() -> Iterator[list[str]]:
    ran: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        ran.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield ran
    finally:
        event.remove(Engine, "before_cursor_execute", note)
