"""Crawls: where pages lead is kept with their results, and followed by whoever is first."""

import asyncio
from dataclasses import replace

from curtsy.frontier.crawls.leads import admit_links, waiting_leads
from curtsy.model.link import Link
from curtsy.scrapers import NAMES
from support.frontier import LONG, Bench, failed, fetched

SITE = "https://site.example"
HOME = f"{SITE}/"


def at(*paths: str) -> list[str]:
    return [SITE + path for path in paths]


async def test_a_job_goes_on_until_its_links_are_followed(bench: Bench) -> None:
    job = await bench.crawl(HOME, depth=1)
    worker = await bench.worker()
    [home] = await worker.lease_and_take()
    assert home.links
    await worker.flush(fetched(home, links=at("/a", "/b", "/a")))
    assert (await bench.counts(job)).state == "running"
    assert await bench.violations() == []
    await bench.follow_links()
    counts = await bench.counts(job)
    assert (counts.state, counts.total, counts.done) == ("running", 3, 1)
    assert await bench.violations() == []
    bench.time.moves(5_000)
    leaves = await worker.lease_and_take()
    assert [(v.url, bool(v.links)) for v in leaves] == [(u, False) for u in at("/a", "/b")]
    await worker.flush(*(fetched(v, at=bench.time()) for v in leaves))
    assert (await bench.counts(job)).state == "succeeded"
    assert await bench.events(job) == [
        "job_queued", "job_started", "page_fetched", "job_grew", "page_fetched", "page_fetched",
        "job_finished",
    ]  # fmt: skip
    assert await bench.violations() == []


async def test_a_lead_that_cannot_be_followed_holds_up_no_other_job(bench: Bench) -> None:
    broken, sound = [await bench.crawl(f"https://{n}.example/", depth=1) for n in ("a", "b")]
    worker = await bench.worker()
    for visit in await worker.lease_and_take():
        await worker.flush(fetched(visit, links=[f"{visit.url}next"]))
    await bench.execute(
        "UPDATE links SET urls = '[[null]]' WHERE job_id = "
        "(SELECT id FROM jobs WHERE public_id = :job)", job=broken,
    )  # fmt: skip
    await bench.follow_links()
    assert (await bench.counts(sound)).total == 2
    counts = await bench.counts(broken)
    assert (counts.state, counts.total) == ("running", 1), "its lead stays"


async def test_a_page_that_leads_nowhere_ends_the_job_at_once(bench: Bench) -> None:
    job = await bench.crawl(HOME, depth=3)
    worker = await bench.worker()
    await worker.flush(*(fetched(v) for v in await worker.lease_and_take()))
    assert (await bench.counts(job)).state == "succeeded"
    assert await bench.violations() == []


async def test_links_that_lead_to_known_pages_only_end_the_job(bench: Bench) -> None:
    job = await bench.crawl(HOME, depth=3)
    worker = await bench.worker()
    await worker.flush(*(fetched(v, links=[HOME]) for v in await worker.lease_and_take()))
    assert (await bench.counts(job)).state == "running"
    await bench.follow_links()
    counts = await bench.counts(job)
    assert (counts.state, counts.total) == ("succeeded", 1)
    assert await bench.violations() == []


async def test_a_result_without_links_is_asked_for_again_where_they_are_wanted(
    bench: Bench,
) -> None:
    """The crawl joined a page that was in flight for another job already."""
    other = await bench.job(HOME)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    crawl = await bench.crawl(HOME, depth=1)
    assert not visit.links
    assert (await worker.flush(fetched(visit))).recorded == 1
    assert [(await bench.counts(job)).done for job in (other, crawl)] == [0, 0]
    assert await bench.violations() == []
    bench.time.moves(5_000)
    [again] = await worker.lease_and_take()
    assert (again.links, again.turn, again.attempt) == (True, visit.turn + 1, 0)
    await worker.flush(fetched(again, at=bench.time(), links=at("/a")))
    assert (await bench.counts(other)).state == "succeeded"
    await bench.follow_links()
    assert (await bench.counts(crawl)).total == 2
    assert await bench.violations() == []


async def test_of_those_who_follow_the_same_links_one_does(bench: Bench) -> None:
    job = await bench.crawl(HOME, depth=1)
    worker = await bench.worker()
    await worker.flush(*(fetched(v, links=at("/a", "/b")) for v in await worker.lease_and_take()))
    await asyncio.gather(*(bench.follow_links() for _ in range(4)))
    assert (await bench.counts(job)).total == 3
    assert (await bench.events(job)).count("job_grew") == 1
    assert await bench.violations() == []


async def test_leads_taken_by_another_meanwhile_are_left_to_it(bench: Bench) -> None:
    job = await bench.crawl(HOME, depth=1)
    worker = await bench.worker()
    await worker.flush(*(fetched(v, links=at("/a")) for v in await worker.lease_and_take()))
    [lead] = await bench.store.read(waiting_leads)
    await bench.follow_links()
    new = await bench.store.write(
        lambda c: admit_links(
            c, lead.job_id, {lead.id: []}, max_age=0, delay_ms=1, now=bench.time()
        )
    )
    assert not new.pages
    assert (await bench.counts(job)).total == 2
    assert await bench.violations() == []


async def test_a_crawl_with_links_left_can_be_cancelled(bench: Bench) -> None:
    job = await bench.crawl(HOME, depth=1)
    worker = await bench.worker()
    await worker.flush(*(fetched(v, links=at("/a")) for v in await worker.lease_and_take()))
    assert await bench.cancel(job) == 0
    await bench.follow_links()
    counts = await bench.counts(job)
    assert (counts.state, counts.total, counts.done) == ("cancelled", 1, 1)
    assert await bench.violations() == []


async def test_last_pages_may_come_from_the_store(bench: Bench) -> None:
    await bench.job(*at("/a"))
    worker = await bench.worker()
    await worker.flush(*(fetched(v) for v in await worker.lease_and_take()))
    bench.time.moves(2_000)
    job = await bench.crawl(HOME, depth=1, max_age=LONG)
    [home] = await worker.lease_and_take()
    await worker.flush(fetched(home, at=bench.time(), links=at("/a")))
    await bench.follow_links()
    counts = await bench.counts(job)
    assert (counts.state, counts.total, counts.done) == ("succeeded", 2, 2)
    assert await bench.violations() == []


async def test_a_failed_page_leads_nowhere_until_it_is_tried_again(bench: Bench) -> None:
    job = await bench.crawl(HOME, depth=1)
    worker = await bench.worker()
    await worker.flush(*(failed(v) for v in await worker.lease_and_take()))
    assert (await bench.counts(job)).state == "failed"
    await bench.retry(job)
    bench.time.moves(5_000)
    [home] = await worker.lease_and_take()
    await worker.flush(fetched(home, at=bench.time(), links=at("/a")))
    await bench.follow_links()
    counts = await bench.counts(job)
    assert (counts.state, counts.total, counts.failed) == ("running", 2, 0)
    assert await bench.violations() == []


async def test_a_crawl_takes_turns_however_its_links_come_in(bench: Bench) -> None:
    """They go on where the crawl was: page by page it would be before all others every time."""
    starts = at(*(f"/{n}" for n in range(6)))
    await bench.crawl(*starts, depth=1)
    worker = await bench.worker()
    for number, start in enumerate(await worker.lease_and_take()):
        await worker.flush(fetched(start, links=at(*(f"/{number}/{n}" for n in range(5)))))
        await bench.follow_links()
    await bench.submit(*at(*(f"/other/{n}" for n in range(10))))
    first = [visit.url for visit in (await worker.take())[:12]]
    assert sum("/other/" in url for url in first) in (5, 6, 7), first


async def test_what_was_in_the_store_counts_once_however_often_a_crawl_grows(bench: Bench) -> None:
    known, new = f"{SITE}/known", f"{SITE}/new"
    await bench.submit(known)
    worker = await bench.worker()
    await worker.flush(*(fetched(v, at=bench.time()) for v in await worker.lease_and_take()))
    job = await bench.crawl(HOME, f"{SITE}/other", depth=1, max_age=LONG)
    one, other = await worker.take()
    await worker.flush(fetched(one, links=[known], at=bench.time()))
    await bench.follow_links()
    await worker.flush(fetched(other, links=[new], at=bench.time()))
    await bench.follow_links()
    counts = await bench.counts(job)
    assert (counts.state, counts.done, counts.total) == ("running", 3, 4)
    assert await bench.violations() == []
    await worker.flush(*(fetched(v, at=bench.time()) for v in await worker.take()))
    assert (await bench.counts(job)).done == 4


async def test_a_page_is_met_once_for_each_scraper_whatever_its_links_pass(bench: Bench) -> None:
    bench.submitter.limits = replace(bench.submitter.limits, scrapers=NAMES | {"detail"})
    job = await bench.crawl(HOME, depth=1)
    worker = await bench.worker()
    a = f"{SITE}/a"
    links = [Link(a, "detail", {"n": 1}), Link(a, "detail", {"n": 2}), Link(a, "detail"), Link(a)]
    await worker.flush(*(fetched(v, links=links) for v in await worker.lease_and_take()))
    await bench.follow_links()
    pages = await bench.rows("SELECT scraper, options FROM pages WHERE url = :url", url=a)
    assert sorted((page.scraper, page.options) for page in pages) == [
        ("detail", '{"params":{"n":1}}'), ("raw", None),
    ]  # fmt: skip
    assert (await bench.counts(job)).total == 3
    assert await bench.violations() == []
