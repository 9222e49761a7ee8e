"""Crawls that start from feeds and sitemaps: what they list is fetched, each entry once, and a
later run fetches only what is new or says that it changed."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
import zstandard

from curtsy.clock import DAY, HOUR, rfc3339
from curtsy.frontier.batch import Document, Result
from curtsy.frontier.crawls import listed_pages as admission
from curtsy.frontier.crawls.lists import waiting_lists
from curtsy.frontier.crawls.old_entries import KEPT
from curtsy.frontier.take import Visit
from curtsy.jobs import SubmitLimits
from curtsy.jobs.job_request import JobOrigin
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.model.outcome import Fetched
from curtsy.model.roles import OPEN
from curtsy.requests.crawl import CrawlRequest, job_request
from curtsy.scrapers import LISTS, NAMES
from curtsy.store import Store
from curtsy.worker import lead_pages
from support.frontier import Bench, ScriptedWorker, failed, fetched, not_modified

SITE = "https://site.example"
INDEX, MAP, FEED = f"{SITE}/sitemap.xml", f"{SITE}/part.xml", f"{SITE}/feed"
MAY, JUNE, JULY = "2026-05-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-07-01T00:00:00Z"


@pytest.fixture
def bench(store: Store) -> Bench:
    return Bench(store, limits=SubmitLimits(scrapers=NAMES | LISTS))


def entry(path: str, changed: str | None = None, key: str | None = None) -> dict[str, Any]:
    fields = {"url": SITE + path} | ({"updated_at": changed} if changed else {})
    return {"key": key or path, "fields": fields}


def listing(
    *entries: dict[str, Any], more: Sequence[dict[str, Any]] = (), following: str | None = None
) -> bytes:
    whole = {"records": entries, "next": following, "empty": not entries, "more": more}
    return orjson.dumps(whole)


def part(url: str = MAP, changed: str | None = None) -> dict[str, Any]:
    return {"url": url, "scraper": "sitemap"} | ({"updated_at": changed} if changed else {})


def answer(visit: Visit, content: bytes, *, at: int) -> Result:
    packed = zstandard.compress(content)
    document = Document(packed, str(hash(content)), "application/json", "utf-8", len(content))
    return Result(visit, Fetched(200, visit.url, wire_bytes=9), at - 5, at, document=document)


async def start(bench: Bench, *, schedule: int | None = None, **body: Any) -> str:
    whole = {"spider": "article", "start": {"sitemap": INDEX}} | body
    parsed = CrawlRequest.model_validate(whole)
    request = job_request(parsed, key=None, caller=OPEN, fresh=False, cache_ttl=HOUR,
                          now=bench.time())  # fmt: skip
    if schedule is not None:
        request = replace(request, origin=JobOrigin(schedule))
    return (await bench.submitter.submit(request)).job


async def fetch(
    bench: Bench, worker: ScriptedWorker, lists: dict[str, bytes], *, fails: str = ""
) -> list[str]:
    """Fetches all that waits, lists first answered with these documents. Returns the other URLs."""
    found = []
    while True:
        bench.time.moves(60_000)
        visits = await worker.lease_and_take()
        if not visits:
            return found
        for visit in visits:
            if visit.url in lists:
                result = answer(visit, lists[visit.url], at=bench.time())
            elif fails and visit.url.endswith(fails):
                result = failed(visit, at=bench.time())
            else:
                result = fetched(visit, at=bench.time())
            if visit.scraper not in LISTS:
                found.append(visit.url.removeprefix(SITE))
            await worker.flush(result)
        await bench.follow_links()
        assert await bench.violations() == []


async def test_entries_become_pages_of_the_job_and_the_list_is_no_result(bench: Bench) -> None:
    worker = await bench.worker()
    job = await start(bench)
    assert await fetch(bench, worker, {INDEX: listing(entry("/a"), entry("/b"))}) == ["/a", "/b"]
    counts = await bench.counts(job)
    assert (counts.state, counts.total, counts.done) == ("succeeded", 3, 3)
    assert [(item.uses, item.depth) for item in await bench.items(job)] == [(4, 0), (3, 0), (3, 0)]
    pages = {row.url: row.scraper for row in await bench.rows("SELECT url, scraper FROM pages")}
    assert pages == {INDEX: "sitemap", f"{SITE}/a": "article", f"{SITE}/b": "article"}


async def test_a_later_run_fetches_what_is_new_or_says_that_it_changed(bench: Bench) -> None:
    worker = await bench.worker()
    first = listing(entry("/a", MAY), entry("/b", MAY), entry("/c"))
    await start(bench)
    assert sorted(await fetch(bench, worker, {INDEX: first})) == ["/a", "/b", "/c"]
    await start(bench)
    assert await fetch(bench, worker, {INDEX: first}) == []
    changed = rfc3339(bench.time())
    second = listing(entry("/a", MAY), entry("/b", changed), entry("/c"), entry("/d"))
    await start(bench)
    assert sorted(await fetch(bench, worker, {INDEX: second})) == ["/b", "/d"]
    await start(bench, start={"sitemap": INDEX, "new_only": False}, params={"max_age": 0})
    assert sorted(await fetch(bench, worker, {INDEX: second})) == ["/a", "/b", "/c", "/d"]


async def test_a_copy_that_is_newer_than_the_change_is_enough(bench: Bench) -> None:
    worker = await bench.worker()
    await bench.submit(f"{SITE}/a", scraper="article")
    await fetch(bench, worker, {})
    job = await start(bench)
    assert await fetch(bench, worker, {INDEX: listing(entry("/a", MAY), entry("/b", MAY))}) == [
        "/b"
    ]
    assert [bool(item.cached) for item in await bench.items(job)] == [False, True, False]


async def test_a_list_that_has_not_changed_is_compared_all_the_same(bench: Bench) -> None:
    """The host answers 304: the stored copy lists the entries."""
    worker = await bench.worker()
    await start(bench, params={"max_pages": 2})
    assert await fetch(bench, worker, {INDEX: listing(entry("/a"), entry("/b"))}) == ["/a"]
    job = await start(bench)
    bench.time.moves(60_000)
    [visit] = await worker.lease_and_take()
    await worker.flush(not_modified(visit, at=bench.time()))
    await bench.follow_links()
    assert await fetch(bench, worker, {}) == ["/b"]
    assert (await bench.counts(job)).state == "succeeded"


async def test_entries_move_with_their_guid_and_need_no_url_of_their_own(bench: Bench) -> None:
    worker = await bench.worker()
    await start(bench)
    await fetch(bench, worker, {INDEX: listing(entry("/old", key="guid-1"))})
    await start(bench)
    moved = listing(entry("/new", key="guid-1"), entry("/other", key="guid-2"))
    assert await fetch(bench, worker, {INDEX: moved}) == ["/other"]


async def test_a_failed_entry_is_left_to_the_dead_letters_and_a_cancelled_one_comes_again(
    bench: Bench,
) -> None:
    worker = await bench.worker()
    whole = listing(entry("/a"), entry("/b"))
    await start(bench)
    await fetch(bench, worker, {INDEX: whole}, fails="/a")
    await start(bench)
    assert await fetch(bench, worker, {INDEX: whole}) == []
    more = listing(entry("/a"), entry("/b"), entry("/c"))
    job = await start(bench)
    bench.time.moves(60_000)
    [visit] = await worker.lease_and_take()
    await worker.flush(answer(visit, more, at=bench.time()))
    await bench.follow_links()
    assert await bench.cancel(job) == 1
    await start(bench)
    assert await fetch(bench, worker, {INDEX: more}) == ["/c"]


async def test_each_schedule_remembers_for_itself(bench: Bench) -> None:
    worker = await bench.worker()
    whole = {INDEX: listing(entry("/a"))}
    for schedule, found in ((1, ["/a"]), (2, ["/a"]), (None, ["/a"]), (1, []), (None, [])):
        await start(bench, schedule=schedule, params={"max_age": 0})
        assert await fetch(bench, worker, whole) == found, schedule


async def test_users_do_not_share_what_they_have_seen(bench: Bench) -> None:
    worker = await bench.worker()
    whole = {INDEX: listing(entry("/a"))}
    for user, found in (("ann", ["/a"]), ("bob", ["/a"]), ("ann", [])):
        await start(bench, user_id=user, params={"max_age": 0})
        assert await fetch(bench, worker, whole) == found, user


async def test_a_part_of_an_index_is_read_again_only_if_it_says_that_it_changed(
    bench: Bench,
) -> None:
    worker = await bench.worker()
    other = f"{SITE}/undated.xml"
    lists = {INDEX: listing(more=[part(MAP, MAY), part(other)]), MAP: listing(entry("/a")),
             other: listing(entry("/b"))}  # fmt: skip
    job = await start(bench)
    assert sorted(await fetch(bench, worker, lists)) == ["/a", "/b"]
    assert [item.depth for item in await bench.items(job)] == [0, -1, -1, 0, 0]

    async def asked() -> list[str]:
        job = await start(bench)
        await fetch(bench, worker, lists)
        ids = [(await bench.row(f"SELECT url FROM pages WHERE id = {item.page_id}")).url
               for item in await bench.items(job)]  # fmt: skip
        return sorted(ids)

    assert await asked() == [INDEX, other], "an undated part may have changed"
    lists[INDEX] = listing(more=[part(MAP, JUNE), part(other)])
    lists[MAP] = listing(entry("/a"), entry("/c"))
    assert await asked() == sorted([INDEX, MAP, other, f"{SITE}/c"])


async def test_an_index_that_lists_itself_and_ever_deeper_ones_ends(bench: Bench) -> None:
    worker = await bench.worker()
    deeper = {f"{SITE}/{n}.xml": listing(more=[part(f"{SITE}/{n + 1}.xml"), part(INDEX)])
              for n in range(20)}  # fmt: skip
    lists = {INDEX: listing(entry("/a"), more=[part(INDEX), part(f"{SITE}/0.xml")])} | deeper
    job = await start(bench)
    assert await fetch(bench, worker, lists) == ["/a"]
    assert (await bench.counts(job)).total == 2 + lead_pages.MOST_LEVELS


async def test_what_does_not_fit_is_left_for_the_next_run_newest_first(bench: Bench) -> None:
    worker = await bench.worker()
    whole = {INDEX: listing(entry("/a", MAY), entry("/b", JULY), entry("/c", JUNE))}
    job = await start(bench, params={"max_pages": 2})
    assert await fetch(bench, worker, whole) == ["/b"]
    told = [orjson.loads(row.data) for row in await bench.rows(
        "SELECT data FROM events WHERE name = 'job_grew'")]  # fmt: skip
    assert told[0]["read"] == {"url": INDEX, "entries": 3, "outside": 0, "seen": 0, "full": True}
    assert (await bench.counts(job)).state == "succeeded"
    await start(bench, params={"max_pages": 2})
    assert await fetch(bench, worker, whole) == ["/c"]


async def test_a_part_that_did_not_fit_is_read_again(bench: Bench) -> None:
    worker = await bench.worker()
    lists = {INDEX: listing(more=[part(MAP, MAY)]), MAP: listing(entry("/a"), entry("/b"))}
    await start(bench, params={"max_pages": 3})
    assert await fetch(bench, worker, lists) == ["/a"]
    await start(bench)
    assert await fetch(bench, worker, lists) == ["/b"]


async def test_a_part_that_was_cut_in_its_first_transaction_is_read_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entries of its last one were all seen, so that none of them was too many."""
    monkeypatch.setattr(lead_pages, "AT_ONCE", 2)
    worker = await bench.worker()
    old = [entry("/y", MAY), entry("/z", MAY)]
    lists = {INDEX: listing(more=[part(MAP, MAY)]), MAP: listing(*old)}
    await start(bench)
    await fetch(bench, worker, lists)
    lists[INDEX] = listing(more=[part(MAP, JUNE)])
    lists[MAP] = listing(entry("/a", JULY), entry("/b", JUNE), *old)
    await start(bench, params={"max_pages": 3})
    assert await fetch(bench, worker, lists) == ["/a"]
    await start(bench)
    assert await fetch(bench, worker, lists) == ["/b"]


async def test_what_a_part_of_a_part_lists_is_not_lost_if_it_did_not_fit(bench: Bench) -> None:
    worker = await bench.worker()
    inner = f"{SITE}/inner.xml"
    lists = {INDEX: listing(more=[part(inner, MAY)]), inner: listing(more=[part(MAP, MAY)]),
             MAP: listing(entry("/a"), entry("/b"))}  # fmt: skip
    await start(bench, params={"max_pages": 4})
    assert await fetch(bench, worker, lists) == ["/a"]
    await start(bench)
    assert await fetch(bench, worker, lists) == ["/b"]


async def test_an_older_part_of_a_feed_is_read_while_there_is_something_new(bench: Bench) -> None:
    worker = await bench.worker()
    second, third = f"{FEED}?page=2", f"{FEED}?page=3"
    lists = {FEED: listing(entry("/a"), following=second),
             second: listing(entry("/b"), following=third),
             third: listing(entry("/c"))}  # fmt: skip
    feed = {"start": {"feed": FEED}}
    await start(bench, **feed)
    assert await fetch(bench, worker, lists) == ["/a", "/b", "/c"]
    lists[FEED] = listing(entry("/new"), entry("/a"), following=second)
    job = await start(bench, **feed)
    assert await fetch(bench, worker, lists) == ["/new"]
    assert (await bench.counts(job)).total == 3, "two parts and a page"
    job = await start(bench, **feed)
    assert await fetch(bench, worker, lists) == []
    assert (await bench.counts(job)).total == 1


async def test_endless_parts_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lead_pages, "MOST_PARTS", 3)
    worker = await bench.worker()
    lists = {f"{FEED}/{n}": listing(entry(f"/{n}"), following=f"{FEED}/{n + 1}") for n in range(9)}
    await start(bench, start={"feed": f"{FEED}/0"})
    assert await fetch(bench, worker, lists) == ["/0", "/1", "/2", "/3"]


async def test_entries_leave_the_site_only_where_the_crawl_allows_it(bench: Bench) -> None:
    worker = await bench.worker()
    away = {"key": "x", "fields": {"url": "https://elsewhere.example/x"}}
    hidden = {"key": "y", "fields": {"url": "http://127.0.0.1/y"}}
    broken = {"key": "z", "fields": {"url": "nothing://"}}
    whole = listing(entry("/a"), entry("/private/b"), away, hidden, broken)
    await start(bench, params={"exclude": ["*/private/*"]})
    assert await fetch(bench, worker, {INDEX: whole}) == ["/a"]
    await start(bench, start={"feed": FEED}, params={"max_age": 0})
    found = await fetch(bench, worker, {FEED: whole})
    assert sorted(found) == ["/a", "/private/b", "https://elsewhere.example/x"]


async def test_many_entries_are_admitted_in_parts_each_once_whoever_follows_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lead_pages, "AT_ONCE", 10)
    worker = await bench.worker()
    job = await start(bench)
    [visit] = await worker.lease_and_take()
    whole = listing(*(entry(f"/{n:02}") for n in range(35)))
    await worker.flush(answer(visit, whole, at=bench.time()))
    await asyncio.gather(*(bench.follow_links() for _ in range(3)))
    assert (await bench.counts(job)).total == 36
    assert len(await bench.rows("SELECT entry FROM seen_entries")) == 35
    assert await bench.violations() == []


async def test_a_part_that_another_admitted_meanwhile_is_left_to_it(bench: Bench) -> None:
    worker = await bench.worker()
    job = await start(bench)
    [visit] = await worker.lease_and_take()
    await worker.flush(answer(visit, listing(entry("/a")), at=bench.time()))
    [waiting] = await bench.store.read(waiting_lists)
    await bench.follow_links()
    admitted = await bench.store.write(
        lambda c: admission.admit_listed(
            c, waiting, admission.Listed("key"), max_age=0, delay_ms=1, now=bench.time()
        )
    )
    assert not admitted.pages
    assert (await bench.counts(job)).total == 2


async def test_a_job_that_is_cancelled_before_its_list_is_read_admits_nothing(
    bench: Bench,
) -> None:
    worker = await bench.worker()
    job = await start(bench)
    [visit] = await worker.lease_and_take()
    await worker.flush(answer(visit, listing(entry("/a")), at=bench.time()))
    assert await bench.violations() == []
    await bench.cancel(job)
    await bench.follow_links()
    assert (await bench.counts(job)).total == 1
    assert await bench.violations() == []
    assert await bench.rows("SELECT entry FROM seen_entries") == []


async def test_two_jobs_that_wait_for_one_feed_fetch_it_once(bench: Bench) -> None:
    worker = await bench.worker()
    jobs = [await start(bench, user_id=user) for user in ("ann", "bob")]
    bench.time.moves(60_000)
    visits = await worker.lease_and_take()
    assert [visit.url for visit in visits] == [INDEX]
    assert await fetch(bench, worker, {INDEX: listing(entry("/a"))}) == ["/a"]
    assert [(await bench.counts(job)).total for job in jobs] == [2, 2]


async def clean_up(bench: Bench) -> None:
    tasks = MaintenanceTasks(store=bench.store, clock=bench.clock, keep_days=30, trusts_clock=True)
    await tasks.cleanup.run()


async def entries(bench: Bench) -> int:
    return len(await bench.rows("SELECT entry FROM seen_entries"))


async def test_what_is_listed_is_remembered_for_as_long_as_it_is_followed(bench: Bench) -> None:
    worker = await bench.worker()
    lists = {INDEX: listing(entry("/a"), more=[part(MAP, MAY)]), MAP: listing(entry("/b"))}
    await start(bench)
    await fetch(bench, worker, lists)
    for _ in range(3):
        bench.time.moves(KEPT - 5 * DAY)
        await clean_up(bench)
        await start(bench)
        assert await fetch(bench, worker, lists) == [], "/b by its part, which was not read"
    lists[INDEX] = listing(entry("/new"))
    for _ in range(2):
        bench.time.moves(KEPT - 5 * DAY)
        await start(bench)
        await fetch(bench, worker, lists)
    await clean_up(bench)
    assert await entries(bench) == 1, "the others have not been listed for long"


async def test_nobody_remembers_for_a_schedule_that_is_gone_or_for_a_user_who_stopped(
    bench: Bench,
) -> None:
    worker = await bench.worker()
    whole = {INDEX: listing(entry("/a"))}
    await start(bench, schedule=7)
    await start(bench)
    await fetch(bench, worker, whole)
    bench.time.moves(KEPT - DAY)
    await clean_up(bench)
    assert await entries(bench) == 2
    bench.time.moves(2 * DAY)
    await clean_up(bench)
    assert await entries(bench) == 0
    assert await bench.rows("SELECT id FROM subscriptions") == []
