"""Throughput from the newest events."""

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
    SELECT job_id, n, at, name, page_id, data FROM {added} WHERE true ORDER BY n
    """,
    added={"job_id": "bigint", "n": "bigint", "at": "bigint", "name": "text", "page_id": "bigint",
           "data": "text"},
)  # fmt: skip


class EventLog:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._n = 0

    async def add(self, *facts: tuple[str, int, int | None, dict[str, Any]], job: int = 1) -> None:
        """Adds events: name, milliseconds ago, page, data."""
        rows = []
        for name, ago, page, data in facts:
            self._n += 1
            rows.append((job, self._n, NOW - ago, name, page, orjson.dumps(data).decode()))
        await self._store.write(lambda c: INSERT(c, added=rows) and None)

    async def throughput(self) -> Throughput:
        return await self._store.read(lambda c: throughput(c, now=NOW))


@pytest.fixture
def events(store: Store, clock: Clock) -> EventLog:
    return EventLog(store)


def page(ago: int, number: int, ms: int, name: str = "page_fetched") -> Any:
    return name, ago, number, {"ms": ms, "status": 200}


async def test_no_events(events: EventLog) -> None:
    assert await events.throughput() == Throughput(0.0, 0, None, None)


async def test_the_rate_is_of_pages_that_ended_within_a_minute(events: EventLog) -> None:
    await events.add(page(61_000, 1, 5), page(59_000, 2, 5), page(10, 3, 5, "page_failed"),
                    page(9, 4, 5, "page_retried"), page(8, 5, 5, "page_moved"),
                    ("job_finished", 7, None, {"round": 1}))  # fmt: skip
    speed = await events.throughput()
    assert (speed.pages_per_minute, speed.attempts) == (2.0, 5)


async def test_a_page_that_two_jobs_wait_for_counts_once(events: EventLog) -> None:
    for job in (1, 2):
        await events.add(page(5, 1, 10), job=job)
    speed = await events.throughput()
    assert (speed.pages_per_minute, speed.attempts) == (1.0, 1)


async def test_the_rate_of_a_fast_minute_is_over_the_time_that_was_read(
    events: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EVENTS_COUNTED", 100)
    await events.add(*(page(200 * (150 - n), n, 5) for n in range(150)))
    assert (await events.throughput()).pages_per_minute == 100 * 60 / 20


async def test_percentiles_count_only_attempts_with_a_request(events: EventLog) -> None:
    await events.add(*(page(5, n, n) for n in range(1, 101)))
    denied = {"ms": 0, "kind": "robots_denied", "error": "No.", "status": None}
    await events.add(("page_failed", 4, 500, denied))
    assert (await events.throughput()).latency == (50, 95, 99)


async def test_success_is_counted_where_a_page_ended(events: EventLog) -> None:
    names = ["page_fetched", "page_not_modified", "page_failed", "page_failed", "page_retried"]
    await events.add(*(page(5, n, 1, name) for n, name in enumerate(names)))
    assert (await events.throughput()).success_rate == 0.5


async def test_only_the_newest_are_read(events: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVENTS_READ", 10)
    await events.add(*(page(5, n, 900) for n in range(50)))
    await events.add(*(page(4, n, 1) for n in range(100, 110)))
    assert (await events.throughput()).latency == (1, 1, 1)
