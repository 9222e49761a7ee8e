"""How fast it goes, as the newest events tell."""

from typing import Any

import orjson
import pytest

from curtsy.clock import Clock
from curtsy.reports import throughput as module
from curtsy.reports.throughput import Throughput, throughput
from curtsy.store import Statement, Store

NOW = 1_800_000_000_000
INSERT = Statement(
    """
    INSERT INTO events (job_id, n, at, name, page_id, data)
    SELECT job_id, n, at, name, page_id, data FROM {made} WHERE true ORDER BY n
    """,
    made={"job_id": "bigint", "n": "bigint", "at": "bigint", "name": "text", "page_id": "bigint",
          "data": "text"},
)  # fmt: skip


class Told:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._n = 0

    async def tell(self, *facts: tuple[str, int, int | None, dict[str, Any]], job: int = 1) -> None:
        """Name, how long ago, page, data."""
        rows = []
        for name, ago, page, data in facts:
            self._n += 1
            rows.append((job, self._n, NOW - ago, name, page, orjson.dumps(data).decode()))
        await self._store.write(lambda c: INSERT(c, made=rows) and None)

    async def speed(self) -> Throughput:
        return await self._store.read(lambda c: throughput(c, now=NOW))


@pytest.fixture
def told(store: Store, clock: Clock) -> Told:
    return Told(store)


def page(ago: int, number: int, ms: int, name: str = "page_fetched") -> Any:
    return name, ago, number, {"ms": ms, "status": 200}


async def test_nothing_happened(told: Told) -> None:
    assert await told.speed() == Throughput(0.0, 0, None, None)


async def test_the_rate_is_of_pages_that_ended_within_a_minute(told: Told) -> None:
    await told.tell(page(61_000, 1, 5), page(59_000, 2, 5), page(10, 3, 5, "page_failed"),
                    page(9, 4, 5, "page_retried"), page(8, 5, 5, "page_moved"),
                    ("job_finished", 7, None, {"round": 1}))  # fmt: skip
    speed = await told.speed()
    assert (speed.pages_per_minute, speed.attempts) == (2.0, 5)


async def test_a_page_that_two_jobs_wait_for_counts_once(told: Told) -> None:
    for job in (1, 2):
        await told.tell(page(5, 1, 10), job=job)
    speed = await told.speed()
    assert (speed.pages_per_minute, speed.attempts) == (1.0, 1)


async def test_a_fast_minute_is_reckoned_from_the_time_that_was_looked_at(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EVENTS_COUNTED", 100)
    await told.tell(*(page(200 * (150 - n), n, 5) for n in range(150)))
    assert (await told.speed()).pages_per_minute == 100 * 60 / 20


async def test_percentiles_are_of_attempts_that_were_made(told: Told) -> None:
    await told.tell(*(page(5, n, n) for n in range(1, 101)))
    denied = {"ms": 0, "kind": "robots_denied", "error": "No.", "status": None}
    await told.tell(("page_failed", 4, 500, denied))
    assert (await told.speed()).latency == (50, 95, 99)


async def test_success_is_counted_where_a_page_ended(told: Told) -> None:
    names = ["page_fetched", "page_not_modified", "page_failed", "page_failed", "page_retried"]
    await told.tell(*(page(5, n, 1, name) for n, name in enumerate(names)))
    assert (await told.speed()).success_rate == 0.5


async def test_only_the_newest_are_read(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVENTS_READ", 10)
    await told.tell(*(page(5, n, 900) for n in range(50)))
    await told.tell(*(page(4, n, 1) for n in range(100, 110)))
    assert (await told.speed()).latency == (1, 1, 1)
