"""The maintenance task `health`: figures in the log, warnings for what is wrong, a sentence."""

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from curtsy.clock import HOUR, MINUTE, Clock
from curtsy.errors import StoreAway
from curtsy.frontier.worker_rows import WorkerRow, register
from curtsy.history.steps import HistorySteps
from curtsy.maintenance.health_check import HealthCheck
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.model.failure_kinds import Kind
from curtsy.store import Store
from support.frontier import Bench, failed, fetched

Lines = list[dict[str, Any]]


@pytest.fixture
def log() -> Iterator[Lines]:
    with capture_logs() as lines:
        yield lines  # type: ignore[misc]  # a list that grows


def of(log: Lines, event: str) -> Lines:
    return [line for line in log if line["event"] == event]


async def check(bench: Bench) -> str:
    tasks = MaintenanceTasks(store=bench.store, clock=bench.clock, keep_days=30)
    return await tasks.by_name()["health"]()


async def with_worker(bench: Bench) -> None:
    row = WorkerRow("w_well", "here", 7, "curtsy test")
    now = bench.time()
    await bench.store.write(lambda c: register(c, row, lease_until=now + HOUR, now=now))


async def test_an_idle_installation_is_well(bench: Bench, log: Lines) -> None:
    told = await check(bench)
    assert told.startswith("Nothing is wrong. No page ended in the last hour; 0 wait, 0 workers ")
    [line] = of(log, "health_checked")
    assert (line["success_rate"], line["waiting"], line["workers"]) == (None, 0, 0)
    assert line["findings"] == 0
    assert line["database_ms"] >= 0


async def test_it_tells_how_much_succeeds_and_what_waits(bench: Bench, log: Lines) -> None:
    urls = [f"https://{n % 4}.example/{n}" for n in range(40)]
    await bench.job(*urls)
    await bench.job("https://other.example/", priority=1)
    worker = await bench.worker()
    at = bench.time()
    visits = [visit for visit in await worker.lease_and_take()
              if "other" not in visit.url][:30]  # fmt: skip
    assert len(visits) == 30
    await worker.flush(*(fetched(visit, at=at) for visit in visits[:20]),
                       *(failed(visit, Kind.TIMEOUT, at=at) for visit in visits[20:]))  # fmt: skip
    await HistorySteps(store=bench.store, clock=bench.clock).fold_all()
    bench.time.moves(1)
    told = await check(bench)
    lines = of(log, "health_checked")
    [line] = lines
    assert (line["succeeded"], line["failed"], line["success_rate"]) == (20, 10, 0.6667)
    assert (line["waiting"], line["waiting_high"], line["waiting_medium"]) == (11, 1, 10)
    assert "Only 67% of 30 pages succeeded: 10 were given up, most of them as timeout. " in told
    assert "67% of 30 pages of the last hour succeeded; 11 wait, " in told


async def test_it_warns_of_pages_that_wait_for_a_worker(bench: Bench, log: Lines) -> None:
    await bench.job("https://a.example/")
    told = await check(bench)
    assert told.startswith("Pages wait and no worker is up. ")
    [line] = of(log, "health_problem")
    assert (line["severity"], line["code"], line["log_level"]) == (
        "problem",
        "no_worker",
        "warning",
    )
    assert "`curtsy worker` starts one" in line["meaning"]
    await with_worker(bench)
    assert "no worker" not in await check(bench)


async def test_it_names_a_source_that_fails(bench: Bench, log: Lines) -> None:
    await bench.job("https://a.example/")
    await with_worker(bench)
    since = bench.time() - 25 * MINUTE
    await bench.execute("UPDATE sources SET failing_since = :since", since=since)
    assert "has failed for 25 minutes" in await check(bench)
    await bench.execute("UPDATE sources SET paused = true")
    assert "has failed" not in await check(bench), "somebody knows of it"


async def test_a_database_that_is_away_is_told_in_the_log(log: Lines) -> None:
    async with Store("postgresql://127.0.0.1:9/nobody", pool_size=1) as store:
        with pytest.raises(StoreAway):
            await HealthCheck(store=store, clock=Clock()).run()
    [line] = of(log, "health_problem")
    assert (line["code"], line["severity"]) == ("store_away", "problem")
