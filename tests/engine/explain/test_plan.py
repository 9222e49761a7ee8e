"""A job's plan, compared with the outlook once the job is submitted."""

from dataclasses import replace
from typing import Any

import pytest
import zstandard

from curtsy.clock import HOUR, MINUTE
from curtsy.explain.outlook import job_outlook
from curtsy.explain.plan import Plan, build_plan, read_plan_facts
from curtsy.frontier.robots_files import RobotsFile, store_robots
from curtsy.frontier.source_policy import Description, PolicyContext, describe
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits
from curtsy.jobs.job_request import check
from curtsy.politeness.policy import Policy
from curtsy.sources.source import pause_source
from curtsy.store import Store
from support.frontier import DELAY, LONG, Bench, fetched

DEFAULTS = Policy(min_delay=DELAY)
SITE = "http://site.com"


@pytest.fixture
def bench(store: Store) -> Bench:
    return Bench(store)


async def planned(
    bench: Bench, *urls: str, priority: int = 5, max_age: int = 0, finish_by: int | None = None,
    defaults: Policy = DEFAULTS,
) -> Plan:  # fmt: skip
    request = JobRequest("fetch", [PageRequest(url, priority) for url in urls], max_age=max_age)
    guarded: list[str] = []
    wanted, now = check(request, SubmitLimits(), guarded=guarded), bench.time()
    facts = await bench.store.read(lambda c: read_plan_facts(c, wanted, max_age, defaults, now=now))
    return build_plan(wanted, facts, defaults, user_agent="curtsy/1", now=now, finish_by=finish_by,
                     guarded=guarded)  # fmt: skip


async def described(bench: Bench, name: str, *hosts: str, **policy: Any) -> None:
    around = PolicyContext(DEFAULTS, 15_000, bench.time())
    await bench.store.write(lambda c: describe(c, Description(name, policy, hosts), around))


async def expected_end(bench: Bench, job: str) -> int | None:
    row = await bench.row("SELECT id FROM jobs WHERE public_id = :job", job=job)
    now = bench.time()
    outlook = await bench.store.read(lambda c: job_outlook(c, row.id, DEFAULTS, now=now))
    return outlook.finish_at


async def test_new_joined_cached_and_refused(bench: Bench) -> None:
    await bench.submit(f"{SITE}/cached")
    worker = await bench.worker()
    await worker.flush(*(fetched(v, at=bench.time()) for v in await worker.lease_and_take()))
    await bench.submit(f"{SITE}/joined")
    rules = zstandard.compress(b"User-agent: *\nDisallow: /private\n")
    stored = RobotsFile(rules, bench.time() + HOUR)
    await bench.store.write(lambda c: store_robots(c, "site.com", stored, status=200))
    urls = [f"{SITE}/{page}" for page in ("cached", "joined", "new", "private/1", "private/2")]
    plan = await planned(bench, *urls, max_age=LONG)
    assert (plan.total, plan.cached, plan.joined, plan.new, plan.refused) == (5, 1, 1, 1, 2)
    assert plan.refused_by_robots == [f"{SITE}/private/1", f"{SITE}/private/2"]
    rows = await bench.rows("SELECT count(*) AS jobs FROM jobs")
    assert rows[0].jobs == 2, "nothing was written"


@pytest.mark.parametrize("priority", [1, 5, 9])
async def test_the_plan_predicts_what_the_outlook_predicts(bench: Bench, priority: int) -> None:
    await bench.submit(*(f"{SITE}/before/{n}" for n in range(30)))
    await bench.submit(*(f"{SITE}/urgent/{n}" for n in range(7)), priority=2)
    await bench.worker()
    urls = [f"{SITE}/{n}" for n in range(20)] + [f"http://other.com/{n}" for n in range(3)]
    plan = await planned(bench, *urls, priority=priority)
    job = await bench.job(*urls, priority=priority)
    assert plan.finish_at == await expected_end(bench, job)
    [slowest, other] = plan.sources
    assert (slowest.name, slowest.pages, other.name) == ("site.com", 20, "other.com")
    assert slowest.ahead == {1: 0, 5: 27, 9: 37}[priority], "30 of the same priority take turns"


async def test_joined_pages_are_fetched_once(bench: Bench) -> None:
    urls = [f"{SITE}/{n}" for n in range(12)]
    first = await bench.job(*urls)
    await bench.worker()
    plan = await planned(bench, *urls)
    assert (plan.new, plan.joined) == (0, 12)
    assert plan.finish_at == await expected_end(bench, first)
    more = await planned(bench, *urls, f"{SITE}/13")
    assert (more.new, more.joined) == (1, 12)
    assert more.finish_at == plan.finish_at + DELAY + 1


async def test_advice_for_a_late_job(bench: Bench) -> None:
    await bench.submit(*(f"{SITE}/before/{n}" for n in range(600)))
    await bench.worker()
    urls = [f"{SITE}/{n}" for n in range(100)]
    now = bench.time()
    early = await planned(bench, *urls, finish_by=now + HOUR)
    assert early.advice is None
    late = await planned(bench, *urls, priority=9, finish_by=now + 2 * MINUTE)
    assert late.advice is not None
    assert late.advice.source == "site.com"
    assert late.advice.pages_in_time == 0
    assert late.advice.with_priority_1_at == now + 100 * (DELAY + 1)
    assert (late.advice.per_hour_needed, late.advice.without_hours_at) == (None, None)
    first = await planned(bench, *urls, priority=1, finish_by=now + 2 * MINUTE)
    assert first.advice is None
    assert first.finish_at == late.advice.with_priority_1_at
    quick = replace(DEFAULTS, min_delay=late.advice.delay_needed or 0)
    again = await planned(bench, *urls, priority=9, finish_by=now + 2 * MINUTE, defaults=quick)
    assert again.advice is None, "with the advised delay"


async def test_only_changes_that_suffice_alone_are_advised(bench: Bench) -> None:
    urls, now = [f"{SITE}/{n}" for n in range(100)], bench.time()
    await bench.worker()
    await described(bench, "site.com", min_delay=500, requests_per_hour=60)
    plan = await planned(bench, *urls, finish_by=now + 10 * MINUTE)
    assert plan.advice is not None
    assert plan.advice.with_priority_1_at is None, "no visit is ahead of it"
    assert plan.advice.delay_needed is None, "the delay is not what it waits for"
    assert plan.advice.per_hour_needed == 606, "and a request for robots.txt"
    await described(bench, "site.com", min_delay=500, requests_per_hour=606)
    assert (await planned(bench, *urls, finish_by=now + 10 * MINUTE)).advice is None
    minute = now // MINUTE % 1440
    closed = {"start": (minute - 10) % 1440, "end": (minute + 60) % 1440, "closed": True}
    await described(bench, "site.com", min_delay=500, hours=closed)
    plan = await planned(bench, *urls, finish_by=now + 10 * MINUTE)
    assert plan.advice is not None
    assert (plan.advice.delay_needed, plan.advice.per_hour_needed) == (None, None)
    assert plan.advice.without_hours_at == now + 100 * 501


async def test_no_end_is_predicted_while_a_person_has_to_act(bench: Bench) -> None:
    now = bench.time()
    alone = await planned(bench, f"{SITE}/1", finish_by=now + HOUR)
    assert [blocker.code for blocker in alone.blockers] == ["no_worker"]
    assert alone.finish_at == now + DELAY + 1, "if there were one"
    await bench.submit(f"{SITE}/0")
    await bench.worker()
    await bench.store.write(lambda c: pause_source(c, "site.com", by="ann"))
    paused = await planned(bench, f"{SITE}/1", "http://other.com/1", finish_by=now + HOUR)
    assert [blocker.code for blocker in paused.blockers] == ["source_paused"]
    assert paused.finish_at is None
    assert [source.paused is None for source in paused.sources].count(False) == 1


async def test_private_addresses_are_counted_separately(bench: Bench) -> None:
    plan = await planned(bench, f"{SITE}/1", "http://127.0.0.1/", "http://[::1]/x")
    assert (plan.total, plan.new) == (3, 1)
    assert plan.guarded == ["http://127.0.0.1/", "http://[::1]/x"]


async def test_robots_files_count_for_the_requested_hosts(bench: Bench) -> None:
    await described(bench, "many", *(f"h{n}.com" for n in range(50)))
    await bench.worker()
    one = await planned(bench, "http://h7.com/1")
    assert one.finish_at == bench.time() + DELAY + 1, "robots.txt, then the page"
    three = await planned(bench, *(f"http://h{n}.com/1" for n in range(3)))
    assert three.finish_at == bench.time() + 5 * (DELAY + 1)
    job = await bench.job(*(f"http://h{n}.com/1" for n in range(3)))
    assert await expected_end(bench, job) == three.finish_at


async def test_an_unknown_host_belongs_to_its_registered_domain(bench: Bench) -> None:
    await bench.submit(*(f"{SITE}/{n}" for n in range(10)))
    plan = await planned(bench, "http://blog.site.com/1", "http://a.new.org/1", "http://b.new.org/")
    assert {(s.name, s.pages) for s in plan.sources} == {("site.com", 1), ("new.org", 2)}


async def test_joining_with_a_better_priority_moves_a_page_up(bench: Bench) -> None:
    await bench.submit(*(f"{SITE}/{n}" for n in range(6)), priority=9)
    await bench.worker()
    plan = await planned(bench, f"{SITE}/5", priority=1)
    assert (plan.new, plan.joined) == (0, 1)
    job = await bench.job(f"{SITE}/5", priority=1)
    assert plan.finish_at == await expected_end(bench, job) == bench.time() + DELAY + 1
    both = await planned(bench, f"{SITE}/4", f"{SITE}/new", priority=1)
    job = await bench.job(f"{SITE}/4", f"{SITE}/new", priority=1)
    assert both.finish_at == await expected_end(bench, job) == bench.time() + 3 * (DELAY + 1)


async def test_advice_for_a_job_that_joins_all_its_pages(bench: Bench) -> None:
    await bench.submit(*(f"{SITE}/{n}" for n in range(6)), priority=9)
    await bench.worker()
    robots = RobotsFile(b"", bench.time() + HOUR)
    await bench.store.write(lambda c: store_robots(c, "site.com", robots, status=404))
    late = await planned(bench, f"{SITE}/5", priority=8, finish_by=bench.time() - 1)
    assert late.advice is not None
    assert late.advice.pages_in_time == 0


async def test_fresh_pages_delay_nothing(bench: Bench) -> None:
    await bench.submit(f"{SITE}/cached")
    worker = await bench.worker()
    await worker.flush(*(fetched(v, at=bench.time()) for v in await worker.lease_and_take()))
    await bench.submit(*(f"{SITE}/{n}" for n in range(8)))
    request = JobRequest("fetch", [PageRequest(f"{SITE}/new", 1), PageRequest(f"{SITE}/cached", 9)],
                         max_age=LONG)  # fmt: skip
    wanted, now = check(request, SubmitLimits()), bench.time()
    facts = await bench.store.read(lambda c: read_plan_facts(c, wanted, LONG, DEFAULTS, now=now))
    plan = build_plan(wanted, facts, DEFAULTS, user_agent="curtsy/1", now=now)
    assert plan.cached == 1
    assert [source.ahead for source in plan.sources] == [0]
    alone = await planned(bench, f"{SITE}/new", priority=1)
    assert plan.finish_at == alone.finish_at


async def test_priority_1_is_advised_only_where_it_helps(
    bench: Bench,
) -> None:
    await bench.submit(*(f"{SITE}/urgent/{n}" for n in range(10)), priority=1)
    await bench.submit(*(f"{SITE}/other/{n}" for n in range(100)))
    await bench.worker()
    urls, soon = [f"{SITE}/{n}" for n in range(3)], bench.time() + 10 * (DELAY + 1)
    first = await planned(bench, *urls, priority=1, finish_by=bench.time())
    assert first.advice is not None
    assert first.advice.with_priority_1_at is None, "it has that already"
    late = await planned(bench, *urls, priority=9, finish_by=soon)
    assert late.advice is not None
    assert late.advice.with_priority_1_at == first.finish_at
