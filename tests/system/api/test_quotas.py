"""Quotas hold exactly, however many ask at once and through however many servers."""

import asyncio
from collections import Counter

import pytest

from api.front import Answer, Front, assert_problem, front
from api.visitors import MovableClock, Visitor, visitor
from curtsy.clock import HOUR
from curtsy.errors import BadRequest
from curtsy.jobs import JobRequest, PageRequest, Submitted
from curtsy.jobs import submitter as submit_module
from curtsy.model.roles import Role
from curtsy.store import Store
from support.engine import engine

PAGE = "http://example.com/"


def pages(job: int, many: int) -> list[str]:
    return [f"http://h{job % 7}.example/{job}/{n}" for n in range(many)]


def begin_an_hour(movable: MovableClock) -> None:
    movable.advance(HOUR - movable.now() % HOUR)


async def spent(door: Front) -> int:
    [row] = await door.engine.query("SELECT pages_this_hour FROM api_keys WHERE user_id = 'ann'")
    return int(row.pages_this_hour)


async def test_pages_an_hour_are_exact_when_many_ask_at_once(
    store: Store, movable: MovableClock
) -> None:
    begin_an_hour(movable)
    async with (
        Store(store.url) as other_store,
        front(store, engine(store, movable)) as one,
        front(other_store, engine(other_store, movable)) as two,
    ):
        ann, bob = await visitor(one, pages_per_hour=40), await visitor(one, "bob")
        asking = [
            Visitor(door, key).submit(*pages(2 * n + (key == bob.key), 3))
            for n in range(30)
            for key in (ann.key, bob.key)
            for door in ([one, two][n % 2],)
        ]
        answers = await asyncio.gather(*asking)
        hers, his = answers[::2], answers[1::2]
        assert Counter(answer.status for answer in hers) == {201: 13, 429: 17}
        assert {answer.status for answer in his} == {201}, "others are not harmed"
        assert await spent(one) == 39
        _refused([answer for answer in hers if answer.status == 429])
        assert (await ann.submit(PAGE)).status == 201, "the last one fits"
        assert (await ann.submit(f"{PAGE}2")).status == 429


def _refused(answers: list[Answer]) -> None:
    for answer in answers:
        assert_problem(answer, 429, "over_limit")
        assert "40 pages an hour" in answer.json["detail"]
        assert 3_500 < int(answer.headers["retry-after"]) <= 3_600


async def test_a_new_hour_begins_with_nothing_spent(guarded: Front, movable: MovableClock) -> None:
    begin_an_hour(movable)
    ann = await visitor(guarded, pages_per_hour=5)
    assert (await ann.submit(*pages(1, 5))).status == 201
    assert (await ann.submit(PAGE)).status == 429
    movable.advance(HOUR)
    assert (await ann.submit(*pages(2, 5))).status == 201
    assert await spent(guarded) == 5


async def test_what_no_hour_has_pages_for_is_not_put_off_to_the_next(guarded: Front) -> None:
    ann = await visitor(guarded, pages_per_hour=5)
    answer = await ann.submit(*pages(1, 6), Idempotency_Key="first")
    assert_problem(answer, 422, "bad_request")
    assert "5 pages an hour: never 6 at once" in answer.json["detail"]
    assert "retry-after" not in answer.headers
    assert (await ann.submit(*pages(1, 5), Idempotency_Key="first")).status == 201


async def test_one_job_over_its_quota_takes_no_other_of_its_batch_with_it(
    store: Store, movable: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    admit_jobs = submit_module.admit_jobs

    def counted(connection, jobs, *rest, **more):  # type: ignore[no-untyped-def]
        sizes.append(len(jobs))
        return admit_jobs(connection, jobs, *rest, **more)

    monkeypatch.setattr(submit_module, "admit_jobs", counted)
    async with front(store, engine(store, movable)) as door:
        await visitor(door, pages_per_hour=2)
        [key] = await door.engine.query("SELECT id FROM api_keys")
        asked = [(1, key.id), (1, None), (5, key.id), (1, key.id), (3, None)]
        answers = await asyncio.gather(
            *(
                door.engine.submitter.submit(
                    JobRequest("articles", [PageRequest(url) for url in pages(n, many)], key_id=k)
                )
                for n, (many, k) in enumerate(asked)
            ),
            return_exceptions=True,
        )
    assert max(sizes) >= 3, "they were one transaction"
    assert [type(answer) for answer in answers] == [
        Submitted, Submitted, BadRequest, Submitted, Submitted,
    ]  # fmt: skip


async def test_a_repeated_request_costs_nothing_and_a_refused_one_keeps_no_key(
    guarded: Front, movable: MovableClock
) -> None:
    begin_an_hour(movable)
    ann = await visitor(guarded, pages_per_hour=3)
    first = await ann.submit(*pages(1, 3), Idempotency_Key="first")
    again = await ann.submit(*pages(1, 3), Idempotency_Key="first")
    assert (again.status, again.json["job_id"]) == (201, first.json["job_id"])
    assert (await ann.submit(PAGE, Idempotency_Key="second")).status == 429
    assert await guarded.engine.query("SELECT 1 FROM submissions WHERE key LIKE '%second'") == []
    movable.advance(HOUR)
    made = [await ann.submit(PAGE, Idempotency_Key="second") for _ in range(2)]
    assert len({answer.json["job_id"] for answer in made}) == 1
    assert await spent(guarded) == 1


async def test_open_jobs_are_exact_when_many_ask_at_once(guarded: Front) -> None:
    ann, bob = await visitor(guarded, open_jobs=4), await visitor(guarded, "bob")
    await asyncio.gather(*(bob.job(*pages(100 + n, 1)) for n in range(5)))
    answers = await asyncio.gather(*(ann.submit(*pages(n, 2)) for n in range(20)))
    assert Counter(answer.status for answer in answers) == {201: 4, 429: 16}
    for answer in answers:
        if answer.status == 429:
            assert_problem(answer, 429, "over_limit")
            assert "4 jobs open" in answer.json["detail"]
    [job, *_] = [answer.json["job_id"] for answer in answers if answer.status == 201]
    await ann.ask("DELETE", f"/jobs/{job}")
    assert (await ann.submit(PAGE)).status == 201
    assert (await ann.submit(f"{PAGE}2")).status == 429


async def test_a_crawl_counts_with_all_the_pages_it_may_come_to(
    guarded: Front, movable: MovableClock
) -> None:
    begin_an_hour(movable)
    ann = await visitor(guarded, pages_per_hour=50)

    async def crawl(start: str, **params: int) -> Answer:
        body = {"spider": "raw", "start_urls": [start], "depth": 2, "params": params}
        return await ann.ask("POST", "/crawl", json=body)

    never = await crawl(PAGE)
    assert_problem(never, 422, "bad_request")
    assert "never 10000 at once. Lower params.max_pages." in never.json["detail"]
    assert "retry-after" not in never.headers
    assert (await crawl(PAGE, max_pages=30)).status == 200
    assert (await crawl(f"{PAGE}2", max_pages=30)).status == 429
    assert (await crawl(PAGE, max_pages=30)).json["cached"]
    assert await spent(guarded) == 30


async def fail_all(door: Front, job: str) -> None:
    """Every page of the job has failed, and it has ended."""
    execute = door.engine.execute
    of_job = "job_id = (SELECT id FROM jobs WHERE public_id = :job)"
    await execute(f"UPDATE items SET state = 2, kind = 'timeout' WHERE {of_job}", job=job)
    await execute(
        "UPDATE jobs SET state = 'failed', failed = total, finished_at = 1 WHERE public_id = :job",
        job=job,
    )


async def test_pages_that_are_tried_again_count_in_the_hour(
    guarded: Front, movable: MovableClock
) -> None:
    begin_an_hour(movable)
    ann = await visitor(guarded, pages_per_hour=7)
    job = await ann.job(*pages(1, 3))
    for retried, sum_spent in ((202, 6), (429, 6)):
        await fail_all(guarded, job)
        answer = await ann.ask("POST", f"/jobs/{job}/retry")
        assert answer.status == retried, answer
        assert await spent(guarded) == sum_spent
    assert_problem(answer, 429, "over_limit")
    assert (await ann.get(f"/jobs/{job}")).json["state"] == "failed", "nothing was begun"
    movable.advance(HOUR)
    assert (await ann.ask("POST", f"/jobs/{job}/retry")).status == 202


async def test_a_job_that_is_tried_again_counts_as_open(guarded: Front) -> None:
    ann = await visitor(guarded, open_jobs=2)
    job = await ann.job(*pages(1, 3))
    await fail_all(guarded, job)
    others = [await ann.job(*pages(n, 1)) for n in (2, 3)]
    answer = await ann.ask("POST", f"/jobs/{job}/retry")
    assert_problem(answer, 429, "over_limit")
    assert "2 jobs open" in answer.json["detail"]
    await ann.ask("DELETE", f"/jobs/{others[0]}")
    assert (await ann.ask("POST", f"/jobs/{job}/retry")).status == 202
    await guarded.engine.execute("UPDATE items SET state = 2 WHERE position = 1")
    answer = await ann.ask("POST", f"/jobs/{job}/retry")
    assert answer.status == 202, "it is open already"


async def test_who_may_retry_anything_spends_of_its_own_hour(
    guarded: Front, movable: MovableClock
) -> None:
    begin_an_hour(movable)
    ann = await visitor(guarded, pages_per_hour=3)
    operator = await visitor(guarded, "bob", Role.OPERATE)
    job = await ann.job(*pages(1, 3))
    await fail_all(guarded, job)
    assert (await operator.ask("POST", f"/jobs/{job}/retry")).status == 202
    assert await spent(guarded) == 3
