"""Sources go from worker to worker only where that helps, and no request starts late for it."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from curtsy.demo.practice_site import PracticeSite
from curtsy.frontier.lease import Lease
from curtsy.politeness.policy import Policy
from curtsy.worker import budget, source_state
from support.engine import Engine, settings, until

HOSTS = 10


@pytest.fixture
async def many_hosts() -> Any:
    async with PracticeSite(hosts=HOSTS) as site:
        yield site


async def test_a_lane_keeps_its_source_when_no_other_worker_is_there(
    curtsy: Engine, site: PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "SPAN", 100)
    monkeypatch.setattr(budget, "VISITS", 5)
    async with curtsy.worker(settings(Policy(min_delay=20))):
        ended = await curtsy.ended(
            await curtsy.submit(*(site.url(0, f"/page/{n}") for n in range(40)))
        )
    assert ended.done == 40
    [source] = await curtsy.query("SELECT epoch FROM sources")
    assert source.epoch == 1, "it was never released, for more than eight budgets"


async def test_another_worker_gets_its_share_before_the_next_requests_are_due(
    curtsy: Engine, many_hosts: PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases: list[Lease] = []
    resume = source_state.SourceState.__init__

    def noted(self: Any, lease: Lease, **how: Any) -> None:
        leases.append(lease)
        resume(self, lease, **how)

    monkeypatch.setattr(source_state.SourceState, "__init__", noted)
    monkeypatch.setattr(budget, "SPAN", 3_000)
    policy = Policy(min_delay=1_500)
    held: dict[str, int] = {}

    async def shared() -> bool:
        rows = await curtsy.query(
            "SELECT owner, count(*) AS held FROM sources WHERE owner IS NOT NULL GROUP BY owner"
        )
        held.update({row.owner: row.held for row in rows})
        of_each = sorted(row.held for row in rows)  # none is between the two at this moment
        return len(rows) == 2 and of_each[-1] <= 7 and sum(of_each) == HOSTS

    async with curtsy.worker(settings(policy)):
        await curtsy.submit(*(many_hosts.url(host, f"/page/{n}")
                              for n in range(50) for host in range(HOSTS)))  # fmt: skip
        await until(lambda: _true_when(len(leases) == HOSTS), 20, lambda: f"{len(leases)}")
        async with curtsy.worker(settings(policy)):
            await until(shared, 60, lambda: f"{held}")
    handed_over = [lease for lease in leases if lease.epoch > 1]
    assert len(handed_over) >= 3
    assert any(lease.ahead for lease in handed_over), "the new owner has time to read the queue"
    for host in range(1, HOSTS + 1):
        sent = sorted(e.seen_at for e in many_hosts.entries() if e.host == f"127.0.1.{host}")
        assert all((after - before) / 1e9 >= 1.4 for before, after in pairwise(sent))


async def test_a_page_does_not_wait_until_its_robots_file_is_stored(
    curtsy: Engine, site: PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty hosts that are new at the same time lost a turn each to twenty writes."""
    written, write = asyncio.Event(), curtsy.store.write

    async def slow(work: Any, **how: Any) -> Any:
        if "RobotsCache" in getattr(work, "__qualname__", ""):
            await written.wait()
        return await write(work, **how)

    monkeypatch.setattr(curtsy.store, "write", slow)
    async with curtsy.worker(settings(obeys_robots=True)):
        ended = await curtsy.ended(await curtsy.submit(site.url(0, "/page/1")))
        assert ended.done == 1
        written.set()
    [host] = await curtsy.query("SELECT * FROM hosts")
    assert host.robots_expires_at is not None, "the worker ends when it is stored"


async def test_a_worker_that_finds_nothing_to_lease_does_not_lock_the_file(
    curtsy: Engine, site: PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every commit of any worker wakes all workers; locks for nothing delayed the others."""
    if not curtsy.store.is_sqlite:
        pytest.skip("only a file is locked as a whole")
    leases, looks = 0, 0
    write, read = curtsy.store.write, curtsy.store.read

    async def counted_write(work: Any, **how: Any) -> Any:
        nonlocal leases
        leases += "Session._lease" in getattr(work, "__qualname__", "")
        return await write(work, **how)

    async def counted_read(work: Any) -> Any:
        nonlocal looks
        looks += "next_ready" in getattr(work, "__qualname__", "")
        return await read(work)

    async with curtsy.worker() as worker:
        await curtsy.ended(await curtsy.submit(site.url(0, "/page/1")))
        await until(lambda: _no_owner(curtsy), 20, lambda: "it is not released")
        await curtsy.execute("UPDATE sources SET ready_at = NULL")
        monkeypatch.setattr(curtsy.store, "write", counted_write)
        monkeypatch.setattr(curtsy.store, "read", counted_read)

        async def looked_often() -> bool:
            worker.wake()
            return looks >= 10

        await until(looked_often, 20, lambda: f"{looks}")
    assert leases == 0


async def _true_when(fact: bool) -> bool:
    return fact


async def _no_owner(curtsy: Engine) -> bool:
    return not await curtsy.query("SELECT 1 FROM sources WHERE owner IS NOT NULL")
