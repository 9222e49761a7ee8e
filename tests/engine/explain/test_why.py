"""The reasons to wait in every state, and whether the frontier then does what they predict."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from curtsy.clock import HOUR, MINUTE, SECOND
from curtsy.errors import NotFound
from curtsy.explain.why import Why, WhyJob, why_job, why_page, why_source
from curtsy.frontier.batch import Batch, Release
from curtsy.frontier.source_policy import Description, PolicyContext, describe, pause
from curtsy.politeness.policy import Policy
from curtsy.politeness.waits import Waited
from curtsy.sources.source import pause_source
from curtsy.store import Store
from support.frontier import DELAY, Bench, failed, fetched, retried

DEFAULTS = Policy(min_delay=DELAY, robots=False)
SITE = "http://site.com"


@pytest.fixture
def bench(store: Store) -> Bench:
    return Bench(store)


async def of_source(bench: Bench, name: str = "site.com") -> Why:
    now = bench.time()
    return await bench.store.read(lambda c: why_source(c, name, DEFAULTS, now=now))


async def of_page(bench: Bench, url: str) -> Why:
    row = await bench.row("SELECT id FROM pages WHERE url = :url", url=url)
    now = bench.time()
    return await bench.store.read(lambda c: why_page(c, row.id, "art", DEFAULTS, now=now))


async def of_job(bench: Bench, job: str) -> WhyJob:
    now = bench.time()
    return await bench.store.read(lambda c: why_job(c, job, DEFAULTS, now=now))


def codes(why: Why | WhyJob) -> list[str]:
    return [blocker.code for blocker in why.blockers]


async def described(bench: Bench, **policy: Any) -> None:
    around = PolicyContext(DEFAULTS, 15_000, bench.time())
    await bench.store.write(lambda c: describe(c, Description("site.com", policy), around))


async def fetched_once(bench: Bench, *, released: bool = True, **report: Any) -> Any:
    """A worker leases the source, fetches one page and releases the source."""
    worker = await bench.worker()
    [leased] = await worker.lease()
    [visit, *_others] = await worker.take()
    now = bench.time()
    batch = worker.batch(fetched(visit, at=now))
    sent = worker.report(leased.source_id, paced_at=now, next_fetch_at=now + DELAY + 1,
                         pace='{"rest":0}')  # fmt: skip
    batch.reports[leased.source_id] = replace(sent, **report)
    await worker.flush_batch(batch)
    if released:
        await worker.leave()
        await worker.register()
    return worker


async def test_no_worker(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1")
    assert codes(await of_source(bench)) == ["no_worker"]
    page = await of_page(bench, f"{SITE}/1")
    assert codes(page) == ["no_worker"]
    assert page.predicted_start_at is None
    why = await of_job(bench, job)
    assert codes(why) == ["no_worker"]
    assert why.finish_at is None


async def test_ready(bench: Bench) -> None:
    await bench.submit(f"{SITE}/1")
    await bench.worker()
    why = await of_source(bench)
    assert (why.state, codes(why), why.predicted_start_at) == ("ready", [], bench.time())
    assert [lease.wait for lease in await (await bench.worker()).lease()] == [0]


async def test_the_delay(bench: Bench) -> None:
    await bench.submit(f"{SITE}/1", f"{SITE}/2", f"{SITE}/3")
    worker = await fetched_once(bench)
    why = await of_source(bench)
    assert codes(why) == ["delay"]
    at = why.blockers[0].until
    assert at is not None
    assert why.predicted_start_at == at
    bench.time.moves(at - bench.time() - 1)
    assert await worker.lease() == []
    bench.time.moves(DELAY + 1)  # a clean release counts as much as a crash
    assert [lease.wait for lease in await worker.lease()] == [0]


async def test_behind_other_visits(bench: Bench) -> None:
    await bench.submit(*(f"{SITE}/{n}" for n in range(20)))
    await bench.submit(f"{SITE}/high", priority=1)
    await bench.submit(f"{SITE}/late", priority=9)
    worker = await bench.worker()
    high, late = await of_page(bench, f"{SITE}/high"), await of_page(bench, f"{SITE}/late")
    assert (high.ahead, codes(high)) == (0, [])
    assert (late.ahead, codes(late)) == (21, ["behind"])
    assert late.predicted_start_at == bench.time() + 21 * (DELAY + 1)
    order = [visit.url for visit in await worker.lease_and_take()]
    assert order.index(f"{SITE}/high") == 0
    assert order.index(f"{SITE}/late") == 21


@pytest.mark.parametrize("announced", [True, False])
async def test_a_rest(bench: Bench, announced: bool) -> None:
    await bench.submit(f"{SITE}/1", f"{SITE}/2")
    now = bench.time()
    rest = {"announced": announced, "kind": "rate_limited", "status": 429, "url": f"{SITE}/1"}
    pace = orjson.dumps({"rest": 10 * MINUTE, "why": rest}).decode()
    worker = await fetched_once(bench, pace=pace, fail_streak=2, next_fetch_at=now + 10 * MINUTE)
    why = await of_source(bench)
    [blocker] = [b for b in why.blockers if b.code != "delay"]
    assert blocker.code == ("retry_after" if announced else "backoff")
    assert f"{SITE}/1" in blocker.because
    assert blocker.until == why.predicted_start_at == now + 10 * MINUTE
    bench.time.moves(10 * MINUTE - 1)
    assert await worker.lease() == []
    bench.time.moves(1 + DELAY)
    assert len(await worker.lease()) == 1


async def test_closed_hours_and_an_hourly_limit(bench: Bench) -> None:
    await bench.submit(f"{SITE}/1", f"{SITE}/2")
    await bench.worker()
    hour_of_day = bench.time() // HOUR % 24
    hours = {"start": hour_of_day * 60, "end": (hour_of_day + 2) % 24 * 60, "closed": True}
    await described(bench, hours=hours)
    why = await of_source(bench)
    assert codes(why) == ["closed_hours"]
    assert why.predicted_start_at == (bench.time() // HOUR + 2) * HOUR
    await described(bench, requests_per_hour=6)
    await fetched_once(bench, pace=orjson.dumps({"rest": 0, "level": 10 * MINUTE}).decode())
    why = await of_source(bench)
    assert "hourly_limit" in codes(why)
    assert why.predicted_start_at == bench.time() + 10 * MINUTE + 1


@pytest.mark.parametrize("lost", [False, True], ids=["released", "owner lost"])
async def test_a_source_never_visited_waits_for_its_closed_hours(bench: Bench, lost: bool) -> None:
    """Also after a worker has leased the source and found it closed."""
    job = await bench.job(f"{SITE}/1")
    worker = await bench.worker()
    opens = (bench.time() // HOUR + 2) * HOUR
    hours = {"start": bench.time() // HOUR % 24 * 60, "end": opens // HOUR % 24 * 60,
             "closed": True}  # fmt: skip
    await described(bench, hours=hours)
    [leased] = await worker.lease()
    release = Release(more=True, band=2, known_band=2, looks=0, control_version=99)
    sent = worker.report(leased.source_id, None if lost else release, next_fetch_at=opens)
    await worker.flush_batch(Batch([], {leased.source_id: sent}, []))
    if lost:
        await bench.bury("w1")
        await worker.register()
    assert (await bench.source("site.com")).next_fetch_at == opens
    for why in (await of_source(bench), await of_page(bench, f"{SITE}/1")):
        assert (why.state, codes(why)) == ("waiting", ["closed_hours"])
        assert why.blockers[0].until == why.predicted_start_at == opens
        assert why.blockers[0].frees == "Other respectful_hours in the policy."
    [at_source] = (await of_job(bench, job)).sources
    assert [blocker.code for blocker in at_source.blockers] == ["closed_hours"]


async def test_a_paused_job_is_called_paused_and_has_no_end(bench: Bench) -> None:
    """Also where another job waits for one of its pages."""
    job = await bench.job(f"{SITE}/1", f"{SITE}/2")
    await bench.job(f"{SITE}/1")
    worker = await bench.worker()
    [visit, *_others] = await worker.lease_and_take()
    await worker.flush(started=[visit.page_id])
    assert (await of_job(bench, job)).row.state_shown == "running"
    await bench.pause(job)
    why = await of_job(bench, job)
    assert (why.row.state_shown, why.finish_at, codes(why)) == ("paused", None, ["job_paused"])
    await bench.resume(job)
    why = await of_job(bench, job)
    assert why.row.state_shown == "running"
    assert why.finish_at is not None


async def test_paused_and_disabled(bench: Bench) -> None:
    await bench.submit(f"{SITE}/1")
    worker = await bench.worker()
    source = await bench.source("site.com")
    await bench.store.write(lambda c: pause(c, source.id, by="ann"))
    why = await of_page(bench, f"{SITE}/1")
    assert codes(why) == ["source_paused"]
    assert "ann" in why.blockers[0].because
    assert why.predicted_start_at is None
    assert await worker.lease() == []
    around = PolicyContext(DEFAULTS, 15_000, bench.time())
    off = Description("site.com", {}, enabled=False)
    await bench.store.write(lambda c: describe(c, off, around))
    assert codes(await of_source(bench)) == ["source_disabled"]
    await described(bench)
    assert codes(await of_source(bench)) == []
    assert len(await worker.lease()) == 1


async def test_a_retry(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    due = bench.time() + MINUTE
    await worker.flush(retried(visit, again_at=due))
    why = await of_page(bench, f"{SITE}/1")
    assert why.blockers[0].code == "retry"
    assert "Retry 1 of 3" in why.blockers[0].because
    assert why.predicted_start_at == due
    assert (await of_job(bench, job)).finish_at == due
    assert await worker.take() == []
    bench.time.moves(MINUTE)
    assert [v.url for v in await worker.take()] == [f"{SITE}/1"]


async def opened(worker: Any, visit: Any, *, at: int) -> None:
    """The visit starts, and a flush reports it as open."""
    batch = worker.batch()
    pace = orjson.dumps({"rest": 0, "open": [visit.page_id]}).decode()
    sent = worker.report(visit.source_id, paced_at=at, next_fetch_at=at + DELAY + 1, pace=pace)
    batch.reports[visit.source_id] = sent
    batch.started.append(visit.page_id)
    await worker.flush_batch(batch)


async def test_in_flight_and_all_slots_busy(bench: Bench) -> None:
    await bench.submit(f"{SITE}/1", f"{SITE}/2")
    worker = await bench.worker()
    [first, _second] = await worker.lease_and_take()
    await bench.execute(
        "UPDATE workers SET slots = 1, in_flight = :pages", pages=f"[{first.page_id}]"
    )
    await opened(worker, first, at=bench.time())
    assert (await of_page(bench, f"{SITE}/1")).state == "in_flight"
    second = await of_page(bench, f"{SITE}/2")
    assert (codes(second), second.ahead) == (["delay", "concurrency", "slots_busy"], 0)
    assert second.predicted_start_at == bench.time() + DELAY + 1
    await bench.bury("w1")
    await bench.worker("w2")
    assert "concurrency" not in codes(await of_page(bench, f"{SITE}/2")), "nothing is known of it"


async def test_a_job_whose_last_page_is_open_waits_for_nothing_else(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1")
    await bench.submit(f"{SITE}/2")
    worker = await bench.worker()
    [first, _second] = await worker.lease_and_take()
    await opened(worker, first, at=bench.time())
    why = await of_job(bench, job)
    assert [(s.outlook.open, s.blockers) for s in why.sources] == [(1, [])]
    assert why.finish_at == bench.time(), "it need not start again"
    bench.time.moves(1)
    await worker.flush(retried(first, again_at=bench.time() + MINUTE))
    page = await of_page(bench, f"{SITE}/1")
    assert (page.state, page.blockers[0].code) == ("waiting", "retry"), "whoever told of it as open"


async def test_due_retries_count_as_ahead(bench: Bench) -> None:
    await bench.submit(*(f"{SITE}/{n}" for n in range(5)), priority=3)
    worker = await bench.worker()
    visits = await worker.lease_and_take()
    await worker.flush(*(retried(visit, again_at=bench.time()) for visit in visits))
    high, low = f"{SITE}/high", f"{SITE}/low"
    await bench.submit(high, priority=1)
    await bench.submit(low, priority=9)
    bench.time.moves(1)
    assert (await of_page(bench, high)).ahead == 0
    assert (await of_page(bench, low)).ahead == 6
    assert (await worker.take())[0].url == high


async def test_slow_hours(bench: Bench) -> None:
    await bench.submit(f"{SITE}/1", f"{SITE}/2", f"{SITE}/3")
    minute = bench.time() // MINUTE % 1440
    slow = {"start": (minute - 10) % 1440, "end": (minute + 60) % 1440, "slowdown": 10}
    await described(bench, min_delay=3 * SECOND, hours=slow)
    await fetched_once(bench)
    why = await of_source(bench)
    [blocker] = why.blockers
    assert blocker.code == "slow_hours"
    assert blocker.until == why.predicted_start_at
    assert 29 * SECOND < (blocker.until or 0) - bench.time() < 31 * SECOND
    assert blocker.data["slowdown"] == 10


async def test_no_prediction_while_every_worker_drains(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1")
    await bench.worker()
    await bench.execute("UPDATE workers SET draining = true")
    page = await of_page(bench, f"{SITE}/1")
    assert (codes(page), page.predicted_start_at) == (["workers_drain"], None)
    assert (await of_job(bench, job)).finish_at is None


async def test_a_worker_that_is_silent_or_stops(bench: Bench) -> None:
    await bench.submit(f"{SITE}/1", f"{SITE}/2")
    worker = await bench.worker()
    await worker.lease()
    await bench.worker("w2")
    await bench.execute("UPDATE workers SET lease_until = 0 WHERE id = :id", id="w1")
    assert codes(await of_source(bench)) == ["owner_silent"]
    await bench.bury("w1")
    assert "owner_silent" not in codes(await of_source(bench))
    await bench.execute("UPDATE workers SET draining = true WHERE id = :id", id="w2")
    assert "workers_drain" in codes(await of_source(bench))


async def test_ended_and_paused(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1", f"{SITE}/2")
    worker = await bench.worker()
    first, second = await worker.lease_and_take()
    await worker.flush(fetched(first))
    page = await of_page(bench, f"{SITE}/1")
    assert (page.state, codes(page)) == ("ended", ["ended"])
    await bench.pause(job)
    assert codes(await of_page(bench, f"{SITE}/2")) == ["job_paused"]
    assert "job_paused" in codes(await of_job(bench, job))
    await bench.resume(job)
    [again] = [v for v in await worker.take() if v.page_id == second.page_id]
    await worker.flush(failed(again))
    assert "given up" in (await of_page(bench, f"{SITE}/2")).blockers[0].because
    assert codes(await of_job(bench, job)) == ["ended"]
    assert (await of_source(bench)).state == "idle"


async def test_of_several_sources_the_slowest_decides(bench: Bench) -> None:
    job = await bench.job(
        *(f"{SITE}/{n}" for n in range(10)), *(f"http://slow.com/{n}" for n in range(5))
    )
    await bench.worker()
    around = PolicyContext(DEFAULTS, 15_000, bench.time())
    slow = Description("slow.com", {"min_delay": MINUTE})
    await bench.store.write(lambda c: describe(c, slow, around))
    why = await of_job(bench, job)
    assert [s.outlook.snapshot.row.name for s in why.sources] == ["slow.com", "site.com"]
    assert [s.outlook.pages for s in why.sources] == [5, 10]
    assert why.finish_at == bench.time() + 4 * (MINUTE + 1)
    assert why.sources[1].outlook.last_start_at == bench.time() + 9 * (DELAY + 1)


async def test_the_ledger(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1", f"{SITE}/2")
    worker = await bench.worker()
    first, second = await worker.lease_and_take()
    now = bench.time.moves(5 * SECOND)
    slow = replace(fetched(first, at=now), waited=Waited(1, 20, 300, 4_000))
    again = retried(second, again_at=now + 7 * SECOND, at=now)
    await worker.flush(slow, again)
    await worker.flush(slow, again)  # as after a commit whose answer was lost
    assert (await of_job(bench, job)).ledger == {
        "capacity": 1, "politeness": 20, "closed": 300, "backoff": 11_000, "fetching": 10
    }  # fmt: skip


async def test_the_ledger_starts_when_the_job_was_created(bench: Bench) -> None:
    first = await bench.job(f"{SITE}/1")
    bench.time.moves(10 * SECOND)
    joined = await bench.job(f"{SITE}/1")
    bench.time.moves(2 * SECOND)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    now = bench.time()
    waited = Waited(12 * SECOND, 0, 0, 0)
    await worker.flush(replace(fetched(visit, at=now), started_at=now, waited=waited))
    assert (await of_job(bench, first)).ledger["capacity"] == 12 * SECOND
    assert (await of_job(bench, joined)).ledger["capacity"] == 2 * SECOND


async def test_only_retries_wait(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1", f"{SITE}/2", f"{SITE}/3")
    worker = await bench.worker()
    now = bench.time()
    later = [now + minutes * MINUTE for minutes in (3, 1, 9)]
    visits = await worker.lease_and_take()
    await worker.flush(*(retried(v, again_at=at, at=now)
                         for v, at in zip(visits, later, strict=True)))  # fmt: skip
    source, why = await of_source(bench), await of_job(bench, job)
    assert (source.state, codes(source)) == ("waiting", ["retry"])
    assert source.blockers[0].until == source.predicted_start_at == now + MINUTE
    assert source.ahead == 3
    [of_job_there] = why.sources
    assert [b.code for b in of_job_there.blockers] == ["retry"]
    assert of_job_there.outlook.first_start_at == now + MINUTE
    assert why.finish_at == now + 9 * MINUTE
    await bench.submit(f"{SITE}/4")
    assert "retry" not in codes(await of_source(bench)), "something else may start now"


async def test_retries_that_fall_due_together_go_one_by_one(bench: Bench) -> None:
    job = await bench.job(*(f"{SITE}/{n}" for n in range(30)))
    worker, now = await bench.worker(), bench.time()
    visits = await worker.lease_and_take()
    await worker.flush(*(retried(v, again_at=now + MINUTE, at=now) for v in visits))
    assert (await of_job(bench, job)).finish_at == now + MINUTE + 29 * (DELAY + 1)


async def test_a_retry_that_falls_due_in_closed_hours_waits_for_their_end(bench: Bench) -> None:
    await bench.submit(f"{SITE}/1")
    worker, now = await bench.worker(), bench.time()
    [visit] = await worker.lease_and_take()
    await worker.flush(retried(visit, again_at=now + 5 * MINUTE, at=now))
    minute = now // MINUTE % 1440
    closed = {"start": (minute - 10) % 1440, "end": (minute + 60) % 1440, "closed": True}
    await described(bench, hours=closed)
    page = await of_page(bench, f"{SITE}/1")
    assert codes(page) == ["retry", "closed_hours"]
    assert page.predicted_start_at == now - now % MINUTE + 60 * MINUTE


async def test_a_scheduled_job(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1")
    at = bench.time() + HOUR
    await bench.execute("UPDATE jobs SET state = 'scheduled', due_at = :at", at=at)
    why = await of_job(bench, job)
    assert (codes(why)[0], why.blockers[0].until) == ("scheduled", at)


async def test_handover(bench: Bench) -> None:
    """The worker died after its last report and may have sent requests since."""
    await bench.submit(f"{SITE}/1", f"{SITE}/2")
    await fetched_once(bench, released=False)
    bench.time.moves(20 * SECOND)
    await bench.bury("w1")
    await bench.worker("w2")
    source = await bench.source("site.com")
    assert source.next_fetch_at > bench.time()
    why = await of_source(bench)
    assert codes(why) == ["handover"]
    assert why.blockers[0].until == why.predicted_start_at == source.next_fetch_at
    bench.time.moves(source.next_fetch_at - bench.time() - 1)
    assert all(leased.wait for leased in await (await bench.worker("w3")).lease())


async def test_crawl_delay_and_slow_answers(bench: Bench) -> None:
    await bench.submit(f"{SITE}/1", f"{SITE}/2", f"{SITE}/3")
    await described(bench, robots=True)
    to_release = Release(more=True, band=2, known_band=2, looks=0)
    await fetched_once(bench, released=False, release=to_release, pace='{"rest":0,"crawl":8000}',
                     next_fetch_at=bench.time() + 8_001)  # fmt: skip
    why = await of_source(bench)
    assert codes(why) == ["crawl_delay"]
    assert why.predicted_start_at == bench.time() + 8_001 + 8_001, "robots.txt comes first"
    await described(bench, robots=True, crawl_delay_cap=2_000)
    assert (await of_source(bench)).predicted_start_at == bench.time() + 2 * 2_001
    assert (await bench.source("site.com")).ready_at == bench.time() + 2_001
    await described(bench, robots=False)
    assert codes(await of_source(bench)) == ["delay"]
    slow = '{"rest":0,"strain":[700,2800,64]}'
    await bench.execute("UPDATE sources SET pace = :pace", pace=slow)
    why = await of_source(bench)
    assert codes(why) == ["slow_down"]
    assert why.predicted_start_at == bench.time() + 4 * DELAY + 1


async def test_a_source_that_no_worker_leases(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1")
    await bench.worker()
    bench.time.moves(1_000)
    assert codes(await of_source(bench)) == []
    bench.time.moves(9_000)
    assert codes(await of_source(bench)) == ["not_taken"]
    [there] = (await of_job(bench, job)).sources
    assert [b.code for b in there.blockers] == ["not_taken"]


async def test_no_prediction_for_what_waits_for_a_person(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1", "http://other.com/1")
    assert [there.moves for there in (await of_job(bench, job)).sources] == [False, False]
    await bench.worker()
    await bench.store.write(lambda c: pause_source(c, "site.com", by="ann"))
    moves = {there.outlook.snapshot.row.name: there.moves
             for there in (await of_job(bench, job)).sources}  # fmt: skip
    assert moves == {"site.com": False, "other.com": True}


async def test_unknown_names(bench: Bench) -> None:
    with pytest.raises(NotFound):
        await of_source(bench, "nobody.example")
    with pytest.raises(NotFound):
        await of_job(bench, "job_000000000000")
