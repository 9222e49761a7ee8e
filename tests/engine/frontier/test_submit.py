"""What a submit promises: one transaction, one winner, no page asked for twice."""

import asyncio

import pytest

from curtsy.errors import BadRequest, OverLimit
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits
from curtsy.model.page_body import Method, PageBody
from support.frontier import LONG, Bench, failed, fetched, moved, retried

PAGE = "https://site.example/page"


async def test_a_submitted_job_is_queued_with_a_visit_for_every_page(bench: Bench) -> None:
    submitted = await bench.submit(PAGE, "https://site.example/other")
    assert (submitted.total, submitted.cached, submitted.new) == (2, 0, 2)
    assert (await bench.counts(submitted.job)).state == "queued"
    assert len(await bench.rows("SELECT * FROM visits")) == 2
    assert await bench.events(submitted.job) == ["job_queued"]
    assert await bench.violations() == []


@pytest.mark.parametrize(
    "other",
    [
        "HTTPS://SITE.example:443/page",
        "https://site.example/page#part",
        "https://site.example/x/../page",
    ],
)
async def test_two_spellings_of_one_page_in_a_job_are_refused(bench: Bench, other: str) -> None:
    with pytest.raises(BadRequest, match="same page as URL 1"):
        await bench.submit(PAGE, other)
    assert await bench.rows("SELECT * FROM jobs") == []


async def test_all_problems_of_a_request_are_said_at_once(bench: Bench) -> None:
    pages = [PageRequest("ftp://site.example/"), PageRequest(PAGE, 11), PageRequest("not a url")]
    with pytest.raises(BadRequest) as refused:
        await bench.submitter.submit(JobRequest(door="fetch", pages=pages))
    assert len(refused.value.problems) == 3


async def test_a_scraper_that_nobody_knows_is_refused(bench: Bench) -> None:
    with pytest.raises(BadRequest, match="no scraper 'magic': there are article, feed"):
        await bench.submit(PAGE, scraper="magic")


async def test_a_job_without_urls_is_refused(bench: Bench) -> None:
    with pytest.raises(BadRequest, match="no URLs"):
        await bench.submit()


async def test_spellings_of_one_page_in_two_jobs_share_one_visit(bench: Bench) -> None:
    await bench.submit(PAGE)
    second = await bench.job("https://SITE.example/page#top")
    assert len(await bench.rows("SELECT * FROM visits")) == 1
    [item] = await bench.items(second)
    assert item.url == "https://SITE.example/page#top"
    assert (await bench.row("SELECT reference_count FROM pages")).reference_count == 2


async def test_another_scraper_makes_another_page(bench: Bench) -> None:
    await bench.submit(PAGE)
    await bench.submit(PAGE, scraper="article")
    assert len(await bench.rows("SELECT * FROM pages")) == 2


async def test_the_cache_is_decided_for_each_item_by_its_age(bench: Bench) -> None:
    await bench.submit("https://site.example/old")
    worker = await bench.worker()
    await worker.flush(*[fetched(v, at=bench.time()) for v in await worker.lease_and_take()])
    bench.time.moves(10_000)
    await bench.submit("https://site.example/new")
    await worker.flush(*[fetched(v, at=bench.time()) for v in await worker.take()])
    bench.time.moves(5_000)
    urls = ["https://site.example/old", "https://site.example/new", "https://site.example/none"]
    submitted = await bench.submit(*urls, max_age=6_000)
    assert (submitted.total, submitted.cached) == (3, 1)
    assert [bool(i.cached) for i in await bench.items(submitted.job)] == [False, True, False]
    assert [i.state for i in await bench.items(submitted.job)] == [0, 1, 0]
    assert (await bench.counts(submitted.job)).done == 1
    assert await bench.violations() == []


async def test_a_document_exactly_as_old_as_allowed_is_no_longer_fresh(bench: Bench) -> None:
    await bench.submit(PAGE)
    worker = await bench.worker()
    await worker.flush(*[fetched(v, at=bench.time()) for v in await worker.lease_and_take()])
    bench.time.moves(6_000)
    assert (await bench.submit(PAGE, max_age=6_001)).cached == 1
    assert (await bench.submit(PAGE, max_age=6_000)).cached == 0


async def test_a_job_whose_pages_are_all_fresh_ends_at_once(bench: Bench) -> None:
    await bench.submit(PAGE)
    worker = await bench.worker()
    await worker.flush(*[fetched(v, at=bench.time()) for v in await worker.lease_and_take()])
    job = await bench.job(PAGE, max_age=LONG)
    assert (await bench.counts(job)).state == "succeeded"
    assert await bench.events(job) == ["job_queued", "job_finished"]
    assert await bench.violations() == []


async def test_max_age_zero_ignores_the_cache(bench: Bench) -> None:
    await bench.submit(PAGE)
    worker = await bench.worker()
    await worker.flush(*[fetched(v, at=bench.time()) for v in await worker.lease_and_take()])
    assert (await bench.submit(PAGE, max_age=0)).cached == 0


async def test_a_page_that_only_failed_is_never_fresh(bench: Bench) -> None:
    await bench.submit(PAGE)
    worker = await bench.worker()
    await worker.flush(*[failed(v, at=bench.time()) for v in await worker.lease_and_take()])
    assert (await bench.submit(PAGE, max_age=LONG)).cached == 0


async def test_the_better_priority_wins_when_a_visit_is_joined(bench: Bench) -> None:
    await bench.submit(PAGE, priority=5)
    await bench.submit(PAGE, priority=2)
    assert (await bench.row("SELECT priority FROM visits")).priority == 2
    await bench.submit(PAGE, priority=9)
    assert (await bench.row("SELECT priority FROM visits")).priority == 2


async def test_a_small_job_has_its_turn_of_a_page_that_a_large_one_wants_last(bench: Bench) -> None:
    pages = [f"https://site.example/{n}" for n in range(100)]
    await bench.submit(*pages)
    await bench.submit(pages[99])
    worker = await bench.worker()
    order = [visit.url for visit in await worker.lease_and_take()]
    assert order.index(pages[99]) <= 1
    await bench.submit(*pages[50:])
    first = [visit.url for visit in await worker.take()][:3]
    assert set(first) == {pages[0], pages[99], pages[50]}, "the first page of each job"


async def test_the_place_of_a_page_that_moved_elsewhere_is_not_compared(bench: Bench) -> None:
    await bench.submit(PAGE)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await worker.flush(moved(visit, "https://elsewhere.example/", at=bench.time()))
    before = await bench.row("SELECT rank, source_id FROM visits")
    await bench.execute("UPDATE visits SET rank = 40")
    await bench.submit(PAGE)
    after = await bench.row("SELECT rank, source_id FROM visits")
    assert (after.rank, after.source_id) == (40, before.source_id)


async def test_joining_a_postponed_visit_leaves_its_time_and_turn(bench: Bench) -> None:
    await bench.submit(PAGE)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await worker.flush(retried(visit, again_at=bench.time() + 30_000))
    before = await bench.row("SELECT due_at, turn, attempt FROM visits")
    await bench.submit(PAGE, priority=1)
    assert await bench.row("SELECT due_at, turn, attempt FROM visits") == before


async def test_a_repeated_key_returns_the_first_job(bench: Bench) -> None:
    first = await bench.submit(PAGE, idempotency_key="k", request_hash="h")
    second = await bench.submit(PAGE, idempotency_key="k", request_hash="h")
    assert second.job == first.job
    assert (first.repeated, second.repeated) == (False, True)
    assert len(await bench.rows("SELECT * FROM jobs")) == 1


async def test_a_key_used_for_another_request_is_refused(bench: Bench) -> None:
    await bench.submit(PAGE, idempotency_key="k", request_hash="h")
    with pytest.raises(BadRequest, match="used for another request"):
        await bench.submit("https://site.example/b", idempotency_key="k", request_hash="other")


async def test_a_key_may_be_used_again_when_its_lifetime_is_over(bench: Bench) -> None:
    first = await bench.job(PAGE, idempotency_key="k", request_hash="h")
    bench.time.moves(SubmitLimits().key_lifetime)
    assert await bench.job(PAGE, idempotency_key="k", request_hash="other") != first


async def test_keys_of_two_users_do_not_meet(bench: Bench) -> None:
    first = await bench.job(PAGE, idempotency_key="k", user_id="ann")
    assert await bench.job(PAGE, idempotency_key="k", user_id="ben") != first


async def test_twenty_concurrent_submits_with_one_key_make_one_job(bench: Bench) -> None:
    submitted = await asyncio.gather(
        *(bench.submit(PAGE, idempotency_key="k", request_hash="h") for _ in range(20))
    )
    assert len({s.job for s in submitted}) == 1
    assert [s.repeated for s in submitted].count(False) == 1
    assert len(await bench.rows("SELECT * FROM jobs")) == 1
    assert (await bench.row("SELECT reference_count FROM pages")).reference_count == 1


async def test_twenty_concurrent_submits_of_one_page_make_one_visit(bench: Bench) -> None:
    await asyncio.gather(*(bench.submit(PAGE, priority=p % 10 + 1) for p in range(20)))
    visit = await bench.row("SELECT * FROM visits")
    assert (visit.priority, visit.turn) == (1, 1)
    assert len(await bench.rows("SELECT * FROM sources")) == 1
    assert await bench.violations() == []


async def test_a_job_over_a_hundred_hosts_makes_a_hundred_ready_sources(bench: Bench) -> None:
    await bench.submit(*(f"https://h{i}.example/" for i in range(100)))
    sources = await bench.rows("SELECT * FROM sources WHERE ready_at <= :now", now=bench.time())
    assert len(sources) == 100
    worker = await bench.worker()
    assert len(await worker.lease()) == 100


async def test_www_shares_its_hosts_source_and_another_port_does_not(bench: Bench) -> None:
    await bench.submit(PAGE, "https://www.site.example/page", "https://site.example:8443/page")
    names = [s.name for s in await bench.rows("SELECT name FROM sources ORDER BY name")]
    assert names == ["site.example", "site.example:8443"]


async def test_more_urls_than_allowed_are_refused(bench: Bench) -> None:
    bench.submitter = bench.submitter_with(SubmitLimits(urls=2))
    with pytest.raises(BadRequest, match="at most 2"):
        await bench.submit(*(f"https://site.example/{i}" for i in range(3)))


async def test_only_new_sources_count_against_the_limit_of_new_sources(bench: Bench) -> None:
    await bench.submit("https://a.example/", "https://b.example/")
    bench.submitter = bench.submitter_with(SubmitLimits(new_sources=2))
    await bench.submit(*(f"https://{h}.example/2" for h in "abcd"))
    with pytest.raises(OverLimit, match="3 hosts never seen"):
        await bench.submit(*(f"https://{h}.example/3" for h in "aefg"))


async def test_pages_waiting_in_all_and_of_a_user_are_limited(bench: Bench) -> None:
    bench.submitter = bench.submitter_with(SubmitLimits(pending=3, pending_of_user=2))
    with pytest.raises(OverLimit, match="of ann"):
        await bench.submit(*(f"https://site.example/{i}" for i in range(3)), user_id="ann")
    bench.time.moves(1_000)
    with pytest.raises(OverLimit, match="limit is 3"):
        await bench.submit(*(f"https://site.example/{i}" for i in range(4)))


async def test_a_refused_submit_takes_no_room_from_the_next(bench: Bench) -> None:
    bench.submitter = bench.submitter_with(SubmitLimits(pending=3))
    with pytest.raises(OverLimit):
        await bench.submit(*(f"https://site.example/{i}" for i in range(4)))
    await bench.submit(PAGE)


async def test_a_new_visit_starts_behind_the_turns_that_ended(bench: Bench) -> None:
    await bench.submit(PAGE)
    worker = await bench.worker()
    [first] = await worker.lease_and_take()
    await worker.flush(fetched(first))
    await bench.submit(PAGE)
    [second] = await worker.take()
    assert second.turn == first.turn + 1


async def test_work_for_a_parked_source_wakes_it_in_the_works_band(bench: Bench) -> None:
    await bench.submit(PAGE)
    await bench.execute("UPDATE sources SET ready_at = NULL, looks = 4, band = 1")
    await bench.submit("https://site.example/low", priority=9)
    source = await bench.source("site.example")
    assert (source.ready_at, source.band, source.looks) == (bench.time(), 3, 0)


async def test_work_never_makes_a_source_ready_before_its_next_fetch(bench: Bench) -> None:
    await bench.submit(PAGE)
    later = bench.time() + 7_000
    await bench.execute("UPDATE sources SET ready_at = NULL, next_fetch_at = :later", later=later)
    await bench.submit("https://site.example/b")
    assert (await bench.source("site.example")).ready_at == later


async def test_better_work_brings_a_waiting_source_into_a_better_band(bench: Bench) -> None:
    await bench.submit(PAGE, priority=9)
    await bench.submit("https://site.example/b", priority=1)
    assert (await bench.source("site.example")).band == 1
    await bench.submit("https://site.example/c", priority=9)
    assert (await bench.source("site.example")).band == 1


async def test_a_job_for_new_pages_only_leaves_out_those_with_a_document(bench: Bench) -> None:
    await bench.submit(PAGE, "https://site.example/failed")
    worker = await bench.worker()
    first, second = await worker.lease_and_take()
    await worker.flush(fetched(first), failed(second))
    new = "https://site.example/new"
    told = await bench.submit(new, PAGE, "https://site.example/failed", new_only=True)
    assert (told.total, told.cached) == (2, 0)
    items = await bench.items(told.job)
    assert [item.position for item in items] == [0, 1], "without a gap"
    assert await bench.violations() == []


async def test_no_stored_answer_stands_for_a_page_with_a_body(bench: Bench) -> None:
    post = PageRequest(PAGE, body=PageBody(Method.POST, "q=1", "text/plain"))
    await bench.submitter.submit(JobRequest(door="articles", pages=[post]))
    worker = await bench.worker()
    await worker.flush(*[fetched(visit) for visit in await worker.lease_and_take()])
    request = JobRequest(door="articles", pages=[post], new_only=True)
    told = await bench.submitter.submit(request)
    assert (told.total, told.cached) == (1, 0)
    assert await bench.violations() == []


async def test_a_job_without_a_new_page_ends_and_says_so(bench: Bench) -> None:
    await bench.submit(PAGE)
    worker = await bench.worker()
    await worker.flush(*[fetched(visit) for visit in await worker.lease_and_take()])
    told = await bench.submit(PAGE, new_only=True, webhook_url="https://hook.example/")
    assert (told.total, (await bench.counts(told.job)).state) == (0, "succeeded")
    assert await bench.events(told.job) == ["job_queued", "job_finished"]
    assert len(await bench.rows("SELECT * FROM webhook_deliveries")) == 1
    assert await bench.violations() == []
