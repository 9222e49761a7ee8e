"""Bad days within one process: blocked loops, rivals, clocks that jump, pages that kill."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from curtsy.clock import Clock, boot_time, wall_time
from curtsy.demo.access_log import TICK_MS
from curtsy.demo.practice_site import PracticeSite
from curtsy.demo.process import PracticeProcess
from curtsy.demo.truth import most_at_once, smallest_gap
from curtsy.frontier.clock_sync import synchronise
from curtsy.frontier.worker_rows import WorkerRow, reap, register
from curtsy.politeness.policy import Policy
from curtsy.store import Store
from support.engine import Engine, engine, settings, until
from support.hostile import Servers, when_let_go

LATE = 2 * TICK_MS / 1000  # seconds by which the site's stamps may be late
MEANWHILE = 5_000  # milliseconds that may pass between two questions, of an hour's jump


async def own_everything(curtsy: Engine, worker: str) -> None:
    """A worker that leased all sources and will never beat again."""
    now = curtsy.clock.now()
    row = WorkerRow(worker, "elsewhere", 1, "curtsy")
    await curtsy.store.write(lambda c: register(c, row, lease_until=now, now=now))
    await curtsy.execute("UPDATE sources SET owner = :w, epoch = epoch + 1", w=worker)


async def test_a_dead_workers_sources_are_taken_over_when_it_was_silent_for_a_lease(
    curtsy: Engine, site: PracticeSite
) -> None:
    job = await curtsy.submit(site.url(0, "/page/1"))
    await own_everything(curtsy, "w_gone")
    began = time.monotonic()
    async with curtsy.worker(settings(lease_ttl=1_500)):
        ended = await curtsy.ended(job)
    took = time.monotonic() - began
    assert ended.state == "succeeded"
    assert took >= 1.5, "not before a lease has passed"
    assert await curtsy.query("SELECT * FROM workers WHERE id = 'w_gone'") == []


async def test_a_page_that_kills_its_worker_again_and_again_is_given_up(
    curtsy: Engine, site: PracticeSite
) -> None:
    job = await curtsy.submit(site.url(0, "/page/1"), site.url(0, "/page/2"))
    [first, _] = await curtsy.query("SELECT page_id FROM visits ORDER BY rank")
    for life in range(3):
        await own_everything(curtsy, f"w_{life}")
        await curtsy.execute("UPDATE sources SET suspect_page_id = :p", p=first.page_id)
        [row] = await curtsy.query("SELECT id, beat FROM workers")
        dead = [(row.id, row.beat)]
        assert await curtsy.store.write(lambda c, d=dead: reap(c, d, now=curtsy.clock.now()))
    async with curtsy.worker():
        ended = await curtsy.ended(job)
    assert (ended.done, ended.failed) == (1, 1)
    assert "died 3 times" in (await curtsy.items(job))[0].error
    assert [e.path for e in site.entries()] == ["/page/2"]


@pytest.fixture
async def held() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A page, and what lets its answer go."""
    let_go = asyncio.Event()
    async with Servers({"host": when_let_go(let_go)}) as servers:
        yield servers.url("host", "/held"), let_go


async def test_on_a_suspected_source_each_page_is_named_before_it_is_visited(
    curtsy: Engine, held: tuple[str, asyncio.Event]
) -> None:
    url, let_go = held
    job = await curtsy.submit(url)
    await curtsy.execute("UPDATE sources SET crash_streak = 2")
    [visit] = await curtsy.query("SELECT page_id FROM visits")
    async with curtsy.worker():

        async def named() -> bool:
            [source] = await curtsy.query("SELECT suspect_page_id FROM sources")
            return bool(source.suspect_page_id == visit.page_id)

        await until(named, 30, lambda: "nobody named the page")
        let_go.set()
        await curtsy.ended(job)
    [source] = await curtsy.query("SELECT crash_streak FROM sources")
    assert source.crash_streak == 0


async def test_a_worker_whose_loop_is_blocked_loses_its_sources_and_starts_nothing(
    curtsy: Engine, site_apart: PracticeProcess
) -> None:
    """Its thread could go on renewing for ever; it must not."""
    job = await curtsy.submit(*(site_apart.url(0, f"/page/{n}") for n in range(60)))
    async with curtsy.worker(settings(Policy(min_delay=80), lease_ttl=1_500)):

        async def some() -> bool:
            return (await curtsy.job(job)).done >= 3

        await until(some, 30, lambda: "nothing was fetched")
        [before] = await curtsy.query("SELECT id, beat FROM workers")
        time.sleep(3)  # noqa: ASYNC251 - blocks this loop, and the worker on it
        [after] = await curtsy.query("SELECT id, beat FROM workers")
        assert after.beat <= before.beat + 2, "no renewals while the loop stood still"
        assert (await curtsy.ended(job)).done == 60
    site_apart.stop()
    gap = smallest_gap(site_apart.entries(), "127.0.1.1")
    assert gap is not None
    assert gap >= 0.080 - LATE


async def test_a_worker_declared_dead_starts_again_under_another_name(
    curtsy: Engine, site: PracticeSite
) -> None:
    async with curtsy.worker(settings(lease_ttl=1_500, drain_seconds=0.1)):
        job = await curtsy.submit(site.url(0, "/slow/8000/1"), site.url(1, "/page/1"))

        async def open_one() -> bool:
            return len(site.entries()) >= 2

        await until(open_one, 30, lambda: "not started")
        [first] = await curtsy.query("SELECT id FROM workers")
        await curtsy.execute("DELETE FROM workers")

        async def another() -> bool:
            rows = await curtsy.query("SELECT id FROM workers")
            return bool(rows) and rows[0].id != first.id

        await until(another, 30, lambda: "no second life")

        async def asked_again() -> bool:
            return [e.path for e in site.entries()].count("/slow/8000/1") >= 2

        await until(asked_again, 30, lambda: "the page was not taken up again")
        assert site.entries()[0].path == "/slow/8000/1" or site.entries()[1].ended_at is not None
    assert (await curtsy.job(job)).done >= 1


class Jumping:
    """A wall clock that somebody sets while a monotonic one goes on."""

    def __init__(self) -> None:
        self.by = 0

    def wall(self) -> int:
        return wall_time() + self.by


@pytest.mark.parametrize("by", [3_600_000, -3_600_000])
async def test_when_the_clock_jumps_waits_keep_their_length(store: Store, by: int) -> None:
    """Stored instants are of the database's clock: whoever sees it jump shifts them, once."""
    clock, other = Clock(), Clock()
    await synchronise(store, clock)
    await synchronise(store, other)
    curtsy = engine(store, clock)
    await curtsy.submit("http://a.example/1")
    now = clock.now()
    await curtsy.execute("UPDATE sources SET ready_at = :at, next_fetch_at = :at", at=now + 5_000)
    await curtsy.execute("UPDATE visits SET due_at = :at", at=now + 7_000)
    for kept in (clock, other):  # as if the database's clock had been set by so much
        at = boot_time()
        kept.adopt(kept.now() - by, at, at, kept.version or 0)
    await synchronise(store, clock)
    await synchronise(store, other)
    [source] = await curtsy.query("SELECT ready_at, next_fetch_at FROM sources")
    [visit] = await curtsy.query("SELECT due_at FROM visits")
    assert source.ready_at == source.next_fetch_at == now + 5_000 + by_seen(by, source, now)
    assert visit.due_at - source.ready_at == 2_000
    assert abs(clock.now() - other.now()) < MEANWHILE
    assert clock.version == other.version == 2


def by_seen(by: int, source: object, now: int) -> int:
    seen: int = source.ready_at - now - 5_000  # type: ignore[attr-defined]
    assert abs(seen - by) < MEANWHILE, "shifted by the jump, once"
    return seen


async def test_two_workers_share_the_work_and_never_a_source(
    curtsy: Engine, site_apart: PracticeProcess, database_url: str
) -> None:
    other_clock = Clock()
    async with Store(database_url) as other_store:
        await synchronise(other_store, other_clock)
        other = engine(other_store, other_clock)
        async with (
            curtsy.worker(settings(Policy(min_delay=80))),
            other.worker(settings(Policy(min_delay=80))),
        ):
            job = await curtsy.submit(*(site_apart.url(n % 4, f"/page/{n}") for n in range(80)))
            ended = await curtsy.ended(job)
    assert ended.done == 80
    site_apart.stop()
    assert len(site_apart.entries()) == 80
    for host in range(1, 5):
        gap = smallest_gap(site_apart.entries(), f"127.0.1.{host}")
        assert gap is not None
        assert gap >= 0.080 - LATE


async def test_a_result_that_cannot_be_stored_costs_only_its_page(
    curtsy: Engine, site: PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    from curtsy import scrapers
    from curtsy.model.outcome import Record, Reply

    def hostile(reply: Reply) -> Record:
        bad = "text/\ud800" if reply.url.endswith("/13") else "text/html"
        return Record(reply.body, bad, None)

    monkeypatch.setitem(scrapers.SIMPLE, "raw", hostile)
    async with curtsy.worker(settings(Policy(min_delay=0))):
        job = await curtsy.submit(*(site.url(0, f"/page/{n}") for n in range(30)))
        ended = await curtsy.ended(job)
    assert (ended.done, ended.failed) == (29, 1)
    [failed] = [i for i in await curtsy.items(job) if i.kind]
    assert (failed.page_url[-3:], failed.kind) == ("/13", "internal")


async def test_a_page_that_only_started_does_not_clear_its_source_of_suspicion(
    curtsy: Engine, held: tuple[str, asyncio.Event]
) -> None:
    """Else a page that kills its worker a moment after its start would do so for ever."""
    url, let_go = held
    job = await curtsy.submit(url)
    await curtsy.execute("UPDATE sources SET crash_streak = 2")
    async with curtsy.worker():

        async def running() -> bool:
            return bool((await curtsy.job(job)).state == "running")

        await until(running, 30, lambda: "the start was not told")
        [source] = await curtsy.query("SELECT crash_streak FROM sources")
        assert source.crash_streak == 2
        let_go.set()
        await curtsy.ended(job)
    [source] = await curtsy.query("SELECT crash_streak FROM sources")
    assert source.crash_streak == 0


async def test_a_suspected_source_is_visited_one_page_at_a_time(
    curtsy: Engine, site: PracticeSite
) -> None:
    job = await curtsy.submit(*(site.url(0, f"/slow/60/{n}") for n in range(6)))
    await curtsy.execute("UPDATE sources SET crash_streak = 2")
    async with curtsy.worker(settings(Policy(min_delay=0, concurrency=4))):
        await curtsy.ended(job)
    first = site.entries()[:3]
    assert most_at_once(first, "127.0.1.1") == 1


async def test_sources_leased_by_an_answer_that_was_lost_are_given_back(
    curtsy: Engine, site: PracticeSite
) -> None:
    job = await curtsy.submit(site.url(0, "/page/1"))
    await curtsy.execute("UPDATE sources SET paused = true")
    async with curtsy.worker():

        async def registered() -> bool:
            return len(await curtsy.query("SELECT id FROM workers")) == 1

        await until(registered, 30, lambda: "no worker")
        await curtsy.execute(
            "UPDATE sources SET owner = (SELECT id FROM workers), epoch = epoch + 1, paused = false"
        )
        assert (await curtsy.ended(job)).state == "succeeded"


@pytest.mark.parametrize("after", [0, 0.001, 0.01, 0.05])
async def test_a_worker_that_is_stopped_as_it_starts_leaves_nothing_behind(
    curtsy: Engine, after: float
) -> None:
    async with curtsy.worker():
        await asyncio.sleep(after)
    assert await curtsy.query("SELECT id FROM workers") == []
