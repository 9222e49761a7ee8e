"""A worker whose memory grows above its limit drains and starts again, by itself, in place."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from processes.conftest import Crew, Jobs
from support.engine import until
from support.patience import PATIENCE
from support.processes import Fleet, Process
from support.sql import run, text

MEGABYTE = 2**20
LIMIT = 400 * MEGABYTE
PAGES = 100
GROWTH = f"""
import os, sys, threading, time

if "worker" in sys.orig_argv and os.environ["CURTSY_WORKER_PROCESSES"] == "1":
    from curtsy.worker import memory_watch
    memory_watch.FIRST_AFTER = 0

    def grow():
        hoard = [bytearray(b"x") * {16 * MEGABYTE} for _ in range({LIMIT // MEGABYTE // 16})]
        while hoard:
            time.sleep(60)

    try:
        os.close(os.open("{{mark}}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        pass
    else:
        threading.Thread(target=grow, daemon=True).start()
"""
"""Of the processes that import this when they start, one grows, once."""
_ATTEMPTS = text("SELECT count(*) FROM attempts")
_WORKERS = text("SELECT memory_bytes FROM workers")


@pytest.fixture
def fleet_of(database_url: str, tmp_path: Path) -> Iterator[Callable[..., Fleet]]:
    """Makes a fleet with these settings, of whose workers one grows."""
    made: list[Fleet] = []

    def make(**settings: object) -> Fleet:
        (tmp_path / "code").mkdir()
        code = GROWTH.replace("{mark}", str(tmp_path / "grown"))
        (tmp_path / "code/sitecustomize.py").write_text(code)
        given = {"robots": "ignore", "worker_slots": 4, "worker_processes": 1,
                 "worker_memory_bytes": LIMIT} | settings  # fmt: skip
        fleet = Fleet(tmp_path, database_url, **given,
                      environment={"PYTHONPATH": str(tmp_path / "code")})  # fmt: skip
        made.append(fleet)
        return fleet

    yield make
    for fleet in made:
        fleet.__exit__()


async def _logged(process: Process, event: str, number: int = 1) -> None:
    async def logged() -> bool:
        return len(process.logged(event)) >= number

    await until(logged, PATIENCE, lambda: f"no {event} in {process.tail()}")


async def _is_small_again(jobs: Jobs, workers: int) -> None:
    async def small() -> bool:
        used = await jobs.store.read(lambda c: list(run(c, _WORKERS).scalars()))
        return len(used) == workers and all(0 < one < LIMIT for one in used)

    await until(small, PATIENCE, lambda: "a worker's memory is above its limit")


async def test_a_worker_that_grows_drains_and_starts_again_as_the_same_process(
    fleet_of: Callable[..., Fleet], jobs: Jobs
) -> None:
    await jobs.submit(PAGES)
    worker = fleet_of().worker()
    await _logged(worker, "worker_restarts")
    await _logged(worker, "worker_started", 2)
    await jobs.are_done(PAGES)
    assert await jobs.store.read(lambda c: run(c, _ATTEMPTS).scalar()) == PAGES, "none twice"
    await _is_small_again(jobs, 1)
    [told] = worker.logged("worker_restarts")
    assert told["memory_bytes"] > told["limit_bytes"] == LIMIT
    assert await worker.stop() == 0


async def test_one_of_several_starts_again_and_its_supervisor_sees_no_end(
    fleet_of: Callable[..., Fleet], jobs: Jobs
) -> None:
    await jobs.submit(PAGES)
    crew = Crew(fleet_of(worker_processes=2).worker())
    await crew.has(1, "worker_restarts")
    await crew.has(3)
    await jobs.are_done(PAGES)
    await _is_small_again(jobs, 2)
    assert len(crew.pids()) == 2
    assert not crew.command.logged("worker_process_ended")
    assert await crew.command.stop() == 0
    await crew.has_ended()
