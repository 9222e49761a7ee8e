"""A whole engine on the test's event loop: store, submitter, worker, and queries."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from curtsy.clock import Clock
from curtsy.fetch import Limits, parse_allowed_proxies, parse_networks
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.politeness.policy import Policy
from curtsy.store import Statement, Store
from curtsy.worker import Worker, WorkerSettings
from support.patience import PATIENCE

LOOPBACK = parse_networks("127.0.0.0/8")
QUICK = Policy(min_delay=20, concurrency=1, retry_base=50, retry_cap=200)

JOB = Statement("SELECT * FROM jobs WHERE public_id = :job")
ITEMS = Statement(
    """
    SELECT i.*, p.url AS page_url FROM items i JOIN pages p ON p.id = i.page_id
    JOIN jobs j ON j.id = i.job_id WHERE j.public_id = :job ORDER BY i.position
    """
)
EVENTS = Statement(
    """
    SELECT e.* FROM events e JOIN jobs j ON j.id = e.job_id
    WHERE j.public_id = :job ORDER BY e.n
    """
)


def settings(
    policy: Policy = QUICK, *, obeys_robots: bool = False, **changes: Any
) -> WorkerSettings:
    """Robots.txt is ignored unless a test needs it, so that tests can count requests."""
    values: dict[str, Any] = {
        "policy": replace(policy, robots=obeys_robots),
        "allow": LOOPBACK,
        "allow_proxies": parse_allowed_proxies("127.0.0.0/8"),
        "lease_ttl": 10_000,  # a worker that stalls for two seconds keeps its leases
        "limits": Limits(connect_seconds=10, total_seconds=30),
        "drain_seconds": 5.0,
    }
    return WorkerSettings(**(values | changes))


@dataclass
class Engine:
    store: Store
    clock: Clock
    submitter: Submitter

    async def submit(self, *urls: str, priority: int = 5, **job: Any) -> str:
        pages = [PageRequest(url, priority) for url in urls]
        return (await self.submitter.submit(JobRequest(door="fetch", pages=pages, **job))).job

    async def job(self, job: str) -> Any:
        return await self.store.read(lambda c: JOB(c, job=job).one())

    async def items(self, job: str) -> list[Any]:
        return await self.store.read(lambda c: list(ITEMS(c, job=job)))

    async def events(self, job: str) -> list[Any]:
        return await self.store.read(lambda c: list(EVENTS(c, job=job)))

    async def query(self, sql: str, **values: Any) -> list[Any]:
        statement = Statement(sql)
        return await self.store.read(lambda c: list(statement(c, **values)))

    async def execute(self, sql: str, **values: Any) -> None:
        statement = Statement(sql)
        await self.store.write(lambda c: statement(c, **values) and None)

    async def ended(self, job: str, seconds: float = PATIENCE) -> Any:
        """Waits until the job has ended and returns its row."""

        async def over() -> bool:
            return (await self.job(job)).state not in ("queued", "running", "scheduled")

        await until(over, seconds, lambda: f"{job} has not ended")
        return await self.job(job)

    @asynccontextmanager
    async def worker(self, of: WorkerSettings | None = None) -> AsyncIterator[Worker]:
        worker = Worker(store=self.store, clock=self.clock, settings=of or settings())
        self.submitter._on_submitted = worker.wake
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            await worker.stop()
            await running


def engine(store: Store, clock: Clock, delay_ms: int = 20) -> Engine:
    submitter = Submitter(store=store, clock=clock, limits=SubmitLimits(allow=LOOPBACK),
                          delay_ms=delay_ms)  # fmt: skip
    return Engine(store, clock, submitter)


async def until(fact: Callable[[], Any], seconds: float, message: Callable[[], str]) -> None:
    """Waits until the fact holds. It should within these seconds, but a slow machine must not fail
    the test, so the wait lasts at least PATIENCE."""
    try:
        async with asyncio.timeout(max(seconds, PATIENCE)):
            while not await fact():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(message()) from None
