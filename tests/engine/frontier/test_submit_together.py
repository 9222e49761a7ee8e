"""Jobs that arrive at once are one transaction, and each is as if it had come alone."""

import asyncio
from typing import Any

import pytest

from curtsy.errors import BadRequest
from curtsy.jobs import JobRequest, PageRequest, Submitted
from curtsy.jobs import submitter as submit_module
from support.frontier import LONG, Bench, fetched

HOST = "https://site.example"


def asked(*paths: str, priority: int = 5, **more: Any) -> JobRequest:
    pages = [PageRequest(HOST + path, priority) for path in paths]
    return JobRequest(door="articles", pages=pages, **more)


async def together(bench: Bench, *requests: JobRequest) -> list[Submitted | BaseException]:
    """At once, so that most of them are one transaction."""
    return await asyncio.gather(
        *(bench.submitter.submit(request) for request in requests), return_exceptions=True
    )


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many jobs each transaction took in."""
    sizes: list[int] = []
    admit_jobs = submit_module.admit_jobs

    def counted(connection: Any, jobs: Any, *rest: Any, **more: Any) -> Any:
        sizes.append(len(jobs))
        return admit_jobs(connection, jobs, *rest, **more)

    monkeypatch.setattr(submit_module, "admit_jobs", counted)
    return sizes


async def test_a_page_that_several_want_has_one_visit_on_the_best_terms(
    transactions: list[int], bench: Bench
) -> None:
    jobs = await together(
        bench,
        asked("/first"),
        asked("/page", "/other", priority=7),
        asked("/page", priority=2),
        asked("/page", "/third", priority=9),
    )
    assert max(transactions) > 1
    assert all(isinstance(job, Submitted) for job in jobs)
    [visit] = await bench.rows(
        "SELECT v.priority, p.reference_count FROM visits v JOIN pages p ON p.id = v.page_id "
        "WHERE p.url LIKE '%/page'"
    )
    assert (visit.priority, visit.reference_count) == (2, 3)
    worker = await bench.worker()
    visits = await worker.lease_and_take()
    assert len(visits) == 4
    await worker.flush(*(fetched(visit) for visit in visits))
    for job in jobs:
        assert isinstance(job, Submitted)
        assert (await bench.counts(job.job)).state == "succeeded"
        assert (await bench.events(job.job))[0] == "job_queued"
    assert await bench.violations() == []


async def test_each_has_its_own_opinion_of_what_is_fresh(
    transactions: list[int], bench: Bench
) -> None:
    await bench.submit(f"{HOST}/page")
    worker = await bench.worker()
    await worker.flush(*(fetched(visit) for visit in await worker.lease_and_take()))
    transactions.clear()
    first, copies, renews, both = await together(
        bench,
        asked("/elsewhere"),
        asked("/page", max_age=LONG),
        asked("/page"),
        asked("/page", "/new", max_age=LONG),
    )
    assert max(transactions) > 1
    assert [s.cached for s in (first, copies, renews, both) if isinstance(s, Submitted)] == [
        0, 1, 0, 1,
    ]  # fmt: skip
    assert isinstance(copies, Submitted)
    assert isinstance(renews, Submitted)
    assert isinstance(both, Submitted)
    assert await bench.events(copies.job) == ["job_queued", "job_finished"]
    assert (await bench.counts(copies.job)).state == "succeeded"
    assert (await bench.counts(renews.job)).state == "queued"
    assert (await bench.counts(both.job)).done == 1
    assert await bench.violations() == []


async def test_they_take_turns_however_they_came(transactions: list[int], bench: Bench) -> None:
    await together(bench, asked("/0"), asked("/a1", "/a2", "/a3"), asked("/b1", "/b2", "/b3"))
    assert max(transactions) > 1
    ranks = await bench.rows(
        "SELECT v.rank, p.url FROM visits v JOIN pages p ON p.id = v.page_id ORDER BY v.rank"
    )
    by_rank: dict[int, set[str]] = {}
    for row in ranks:
        by_rank.setdefault(row.rank, set()).add(row.url[len(HOST) :])
    assert list(by_rank.values()) == [{"/0", "/a1", "/b1"}, {"/a2", "/b2"}, {"/a3", "/b3"}]


async def test_the_same_key_in_one_batch_makes_one_job(
    transactions: list[int], bench: Bench
) -> None:
    same = [asked("/page", idempotency_key="k", request_hash="1") for _ in range(6)]
    other = asked("/other", idempotency_key="k", request_hash="2")
    first, *again, refused = await together(bench, asked("/first"), *same, other)
    assert isinstance(first, Submitted)
    assert len({s.job for s in again if isinstance(s, Submitted)}) == 1
    assert [s.repeated for s in again if isinstance(s, Submitted)] == [False] + [True] * 5
    assert isinstance(refused, BadRequest)
    assert len(await bench.rows("SELECT * FROM jobs")) == 2


async def test_one_that_the_database_refuses_takes_no_other_with_it(
    transactions: list[int], bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    admit_jobs = submit_module.admit_jobs

    def picky(connection: Any, jobs: Any, *rest: Any, **more: Any) -> Any:
        if any(job.request.name == "poison" for job in jobs):
            raise ArithmeticError("of one's own")
        return admit_jobs(connection, jobs, *rest, **more)

    monkeypatch.setattr(submit_module, "admit_jobs", picky)
    first, poison, last = await together(
        bench, asked("/first"), asked("/poison", name="poison"), asked("/last")
    )
    assert isinstance(poison, ArithmeticError)
    assert isinstance(first, Submitted)
    assert isinstance(last, Submitted)
    assert len(await bench.rows("SELECT * FROM jobs")) == 2
