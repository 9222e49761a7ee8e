from itertools import product

import pytest

from api.front import Front, assert_problem
from api.visitors import visitor
from curtsy.jobs import listing
from curtsy.model.job_states import JobState
from curtsy.model.roles import Role
from curtsy.model.status_words import DOORS, FILTERS
from support.sql import statements_ran

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
                   "state": "queued", "name": None, "total": 1, "completed": 0, "failed": 0,
                   "finished_at": None}  # fmt: skip


WORDS = {"id", "door", "state", "status", "name", "total", "completed", "failed", "created_at",
         "finished_at"}  # fmt: skip


async def test_every_row_has_the_same_words_whatever_its_door(door: Front) -> None:
    for at, (of, state) in enumerate(product(DOORS, JobState)):
        await door.engine.execute(
            EVERY_JOB, job=f"{of}-{state}", door=of, state=state, done=1, at=at
        )
    rows = (await door.get("/jobs/?limit=1000")).json["jobs"]
    assert len(rows) == len(DOORS) * len(JobState)
    for row in rows:
        assert row.keys() >= WORDS, row["door"]
        assert (row["id"], row["total"], row["completed"]) == (
            f"{row['door']}-{row['state']}",
            2,
            1,
        )
    own = {"articles": "total_articles", "crawl": "spider", "runs": "task_id", "fetch": "url"}
    assert all(own[row["door"]] in row for row in rows), "beside its door's own fields"


EVERY_JOB = """
    INSERT INTO jobs (public_id, door, scraper, state, total, done, created_at, updated_at)
    VALUES (:job, :door, 'raw', :state, 2, :done, :at, :at)
"""


async def test_a_word_finds_the_jobs_that_show_it(door: Front) -> None:
    """As their door's status, or as the engine's state; with and without pages that succeeded."""
    every = list(product(DOORS, JobState, (0, 1)))
    for at, (of, state, done) in enumerate(every):
        job = f"{of}-{state}-{done}"
        await door.engine.execute(EVERY_JOB, job=job, door=of, state=state, done=done, at=at)
    everything = (await door.get("/jobs?limit=1000")).json["jobs"]
    assert len(everything) == len(every)
    states = {"pending": "scheduled queued", "started": "running",
              "success": "succeeded partial", "failure": "failed"}  # fmt: skip
    for word in FILTERS:
        body = (await door.get(f"/jobs?status_filter={word}&limit=1000")).json
        of_all = states.get(word, "").split()
        meant = [job for job in everything
                 if word in (job["status"], job["state"]) or job["state"] in of_all]  # fmt: skip
        assert body["jobs"] == meant, word
        assert body["total"] == len(meant) > 0
    for of in DOORS:
        body = (await door.get(f"/jobs?door={of}")).json
        assert body["jobs"] == [job for job in everything if job["door"] == of]
        both = (await door.get(f"/jobs?door={of}&status_filter=cancelled")).json
        assert [job["door"] for job in both["jobs"]] == [of] * 2
        assert both["total"] == 2


async def test_what_has_to_be_searched_for_is_found_a_piece_at_a_time(
    door: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However far down: a page with few or none of them says where to go on."""
    monkeypatch.setattr(listing, "SEARCHED", 4)
    ann = await visitor(door)
    made = [await ann.job(f"http://example.com/{n}") for n in range(10)]
    for job in made[:2]:
        await ann.ask("DELETE", f"/jobs/{job}")
    await door.engine.execute(
        "UPDATE jobs SET name = 'The first' WHERE public_id = :job", job=made[0]
    )
    await door.engine.execute("INSERT INTO job_tags (tag, job_id) SELECT 'all', id FROM jobs")
    for asked, meant in (("status_filter=cancelled", made[1::-1]), ("q=first", made[:1]),
                         ("tag=all&status_filter=CANCELLED", made[1::-1])):  # fmt: skip
        found, cursor, pages = [], "", 0
        while cursor is not None:
            body = (await ann.get(f"/jobs?{asked}{cursor}")).json
            found += [job["job_id"] for job in body["jobs"]]
            cursor = f"&cursor={body['next_cursor']}" if "next_cursor" in body else None
            pages += 1
        assert (found, pages) == (meant, 3), asked
    boss = await visitor(door, "boss", Role.OPERATE)
    assert (await boss.get("/jobs?tag=all&limit=2")).json["total"] == 10


async def test_the_total_is_counted_up_to_its_cap(door: Front) -> None:
    await _submitted(door, 1)
    await door.engine.execute(MANY_JOBS, many=1_001)
    await door.engine.execute(THEIR_ITEMS)
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
    with statements_ran("job") as for_two:
        await door.get("/jobs")
    await _submitted(door, 28)
    with statements_ran("job") as for_thirty:  # keys are looked for every few seconds
        assert len((await door.get("/jobs")).json["jobs"]) == 30
    assert len(for_two) == len(for_thirty) <= 5
