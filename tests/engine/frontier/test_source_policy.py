"""Sources described, grouped, split and forgotten while their visits wait."""

from typing import Any

import pytest

from curtsy.frontier.batch import Release
from curtsy.frontier.control import lost_visits, source_news
from curtsy.frontier.host_moves import move_late_visits
from curtsy.frontier.lease import AHEAD
from curtsy.frontier.source_policy import (
    Description,
    PolicyContext,
    describe,
    forget,
    pause,
    resume,
)
from curtsy.politeness.policy import Policy
from support.frontier import DELAY, Bench, fetched
from support.sql import run, text

TTL = 15_000


def around(bench: Bench) -> PolicyContext:
    return PolicyContext(Policy(min_delay=DELAY), TTL, bench.time())


async def described(bench: Bench, name: str, **words: Any) -> None:
    policy = words.pop("policy", {})
    wanted = Description(name, policy, **words)
    await bench.store.write(lambda c: describe(c, wanted, around(bench)))


async def waiting(bench: Bench) -> dict[str, list[str]]:
    """URLs by the name of the source in which they wait."""
    rows = await bench.store.read(
        lambda c: run(
            c,
            text(
                "SELECT s.name, p.url FROM visits v JOIN pages p ON p.id = v.page_id "
                "JOIN sources s ON s.id = v.source_id ORDER BY p.url"
            ),
        ).all()
    )
    found: dict[str, list[str]] = {}
    for name, url in rows:
        found.setdefault(name, []).append(url)
    return found


async def test_names_within_a_domain_share_one_budget(bench: Bench) -> None:
    await bench.submit("http://news.site.com/1", "http://shop.site.com/1")
    await bench.submit("http://site.com/1", "http://x1.x2.site.com/1")
    await bench.submit("http://site.com:8080/1", "http://a.github.io/1", "http://b.github.io/1")
    found = await waiting(bench)
    assert found.keys() == {"site.com", "site.com:8080", "a.github.io", "b.github.io"}
    assert len(found["site.com"]) == 4
    assert await bench.violations() == []


async def test_hosts_of_a_group_share_one_budget(bench: Bench) -> None:
    await bench.submit("http://one.com/1", "http://www.one.com/2", "http://two.com/1")
    await described(bench, "both", hosts=["one.com", "two.com"], policy={"min_delay": 5_000})
    assert len((await waiting(bench))["both"]) == 3
    await bench.submit("http://two.com/9", "http://sub.one.com/9")
    assert len((await waiting(bench))["both"]) == 5, "new pages of theirs, and of their domains"
    worker = await bench.worker()
    [leased] = [lease for lease in await worker.lease() if lease.name == "both"]
    assert leased.policy == {"min_delay": 5_000}
    await worker.flush(*(fetched(v) for v in await worker.take()))
    assert await bench.violations() == []


async def test_a_group_is_split_again(bench: Bench) -> None:
    await described(bench, "both", hosts=["one.com", "two.com"])
    await bench.submit("http://one.com/1", "http://blog.one.com/1", "http://two.com/1")
    await described(bench, "both", hosts=["one.com"])
    assert await waiting(bench) == {
        "both": ["http://blog.one.com/1", "http://one.com/1"],
        "two.com": ["http://two.com/1"],
    }
    assert await bench.store.write(lambda c: forget(c, "both", around(bench)))
    assert (await waiting(bench)).keys() == {"one.com", "two.com"}
    assert not await bench.store.write(lambda c: forget(c, "both", around(bench)))
    assert await bench.violations() == []


async def test_a_domain_that_is_described_takes_its_names_along(bench: Bench) -> None:
    await bench.submit("http://blog.one.com/1", "http://shop.one.com/1")
    await described(bench, "acme", hosts=["one.com"])
    assert (await waiting(bench)).keys() == {"acme"}
    await described(bench, "shop", hosts=["shop.one.com"])
    assert await waiting(bench) == {
        "acme": ["http://blog.one.com/1"], "shop": ["http://shop.one.com/1"]
    }  # fmt: skip
    await described(bench, "acme", hosts=["one.com"], policy={"concurrency": 2})
    assert (await waiting(bench)).keys() == {"acme", "shop"}, "a name of its own stays apart"


async def test_the_new_source_waits_until_the_old_one_has_let_go(bench: Bench) -> None:
    await bench.submit("http://one.com/1", "http://one.com/2")
    worker = await bench.worker()
    visits = await worker.lease_and_take()
    await described(bench, "first", hosts=["one.com"])
    held = [(v.page_id, v.turn, v.source_id) for v in visits]
    turns = {(v.page_id, v.turn) for v in visits}
    assert await bench.store.read(lambda c: lost_visits(c, held)) == (set(), turns)
    other = await bench.worker("w2")
    bench.time.moves(TTL - 1)
    assert [lease.name for lease in await other.lease()] == []
    bench.time.moves(1 + DELAY)
    [leased] = await other.lease()
    assert leased.name == "first"
    assert leased.unreported, "whatever the old owner asked last was not told here"
    told = await worker.flush(fetched(visits[0]))
    assert told.recorded == 1, "what was open when the host moved still counts"
    assert [v.url for v in await other.take(leased.source_id)] == ["http://one.com/2"]
    assert await bench.violations() == []


async def test_a_rest_goes_with_its_host_also_into_a_source_that_is_held(bench: Bench) -> None:
    await described(bench, "group", hosts=["two.com"])
    await bench.submit("http://one.com/1", "http://two.com/1")
    worker = await bench.worker()
    held = {lease.name: lease for lease in await worker.lease()}
    visits = {visit.url: visit for visit in await worker.take()}
    await worker.release(held["one.com"].source_id, more=True)
    later = bench.time() + 600_000
    await bench.execute("UPDATE sources SET next_fetch_at = :t WHERE name = 'one.com'", t=later)
    await described(bench, "group", hosts=["one.com", "two.com"])
    heard = await bench.store.read(lambda c: source_news(c, [held["group"].source_id]))
    assert heard[held["group"].source_id].owner is None, "its lane hears that it is no longer its"
    assert (await worker.flush(fetched(visits["http://two.com/1"]))).recorded == 0
    other = await bench.worker("w2")
    bench.time.moves(599_999 - AHEAD)
    assert [lease.name for lease in await other.lease()] == ["one.com"], "where nothing waits"
    assert await other.take() == []
    bench.time.moves(1 + AHEAD + DELAY)
    assert [lease.name for lease in await other.lease()] == ["group"]
    assert len(await other.take()) == 2
    assert await bench.violations() == []


async def test_what_a_late_submit_left_behind_is_moved_after_its_host(bench: Bench) -> None:
    await bench.submit("http://one.com/1")
    [old] = await bench.rows("SELECT id FROM sources")
    await described(bench, "first", hosts=["one.com"])
    await bench.execute("UPDATE visits SET source_id = :old", old=old.id)  # it saw the old source
    assert await bench.store.write(lambda c: move_late_visits(c, now=bench.time())) == 1
    assert (await waiting(bench)).keys() == {"first"}
    assert await bench.store.write(lambda c: move_late_visits(c, now=bench.time())) == 0


async def test_what_moves_keeps_its_place_and_is_found(bench: Bench) -> None:
    """Below a source's floor nobody looks: what comes from elsewhere goes above it."""
    await bench.submit(*(f"http://one.com/{n}" for n in range(3)))
    await described(bench, "two.com")
    await bench.execute("""UPDATE sources SET ranks = '{"5":[700,650]}' WHERE name = 'two.com'""")
    await described(bench, "two.com", hosts=["one.com", "two.com"])
    rows = await bench.rows("SELECT rank FROM visits ORDER BY rank")
    assert [row.rank for row in rows] == [701, 702, 703]


async def test_a_policy_counts_for_a_wait_that_began_under_another(bench: Bench) -> None:
    await bench.submit("http://one.com/1", "http://one.com/2")
    await described(bench, "one.com", policy={"min_delay": 3_600_000})
    worker = await bench.worker()
    [leased] = await worker.lease()
    [first, _second] = await worker.take()
    now = bench.time()
    report = worker.report(leased.source_id, next_fetch_at=now + 3_600_001, paced_at=now,
                           pace='{"rest":0}',
                           release=Release(more=True, band=2, known_band=2, looks=0,
                                           control_version=leased.control_version))  # fmt: skip
    batch = worker.batch(fetched(first))
    batch.reports[leased.source_id] = report
    await worker.flush_batch(batch)
    bench.time.moves(10_000)
    assert await worker.lease() == []
    await described(bench, "one.com", policy={"min_delay": 9_000})
    other = await bench.worker("w2")
    assert [lease.wait for lease in await other.lease()] == [0]


@pytest.mark.parametrize("paused", [True, False])
async def test_a_paused_source_keeps_what_waits(bench: Bench, paused: bool) -> None:
    await bench.submit("http://one.com/1")
    worker = await bench.worker()
    [leased] = await worker.lease()
    i = leased.source_id
    await bench.store.write(lambda c: pause(c, i, by="ann"))
    if not paused:
        await bench.store.write(lambda c: resume(c, i, now=bench.time()))
    heard = await bench.store.read(lambda c: source_news(c, [i]))
    assert heard[i].paused == paused
    assert heard[i].control_version > leased.control_version
    await worker.leave()
    bench.time.moves(5_000)
    assert len(await (await bench.worker("w2")).lease()) == (0 if paused else 1)
    [row] = await bench.rows("SELECT paused_by FROM sources")
    assert row.paused_by == ("ann" if paused else None)
    assert len(await waiting(bench)) == 1


async def test_a_policy_that_changed_while_its_source_was_given_back_holds(bench: Bench) -> None:
    """Whoever gave it back had not heard of it, and reckoned by the old one."""
    await bench.submit("http://one.com/1", "http://one.com/2")
    await described(bench, "one.com", policy={"min_delay": 3_600_000})
    worker = await bench.worker()
    [leased] = await worker.lease()
    [first, _second] = await worker.take()
    await described(bench, "one.com", policy={"min_delay": 9_000})
    now = bench.time()
    release = Release(more=True, band=2, known_band=2, looks=0,
                      control_version=leased.control_version)  # fmt: skip
    batch = worker.batch(fetched(first))
    batch.reports[leased.source_id] = worker.report(
        leased.source_id, next_fetch_at=now + 3_600_001, paced_at=now, pace='{"rest":0}',
        release=release,
    )  # fmt: skip
    await worker.flush_batch(batch)
    assert [lease.source_id for lease in await worker.lease()] == [leased.source_id]
