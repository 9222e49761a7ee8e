"""Bad days of the database: frozen, silent, locked, full, or held back by an old reader."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path

import asyncpg
import pytest

from chaos.server import Server
from chaos.world import World, world
from curtsy.demo.process import PracticeProcess
from curtsy.errors import StoreFull
from curtsy.jobs import JobRequest, PageRequest
from curtsy.store import Connection
from support.engine import until
from support.patience import PATIENCE
from support.processes import Fleet, Process
from support.proxy import Proxy, of_a_flush
from support.sql import run, text

TRUST = 0.8
"""Of a lease: so long after its last heartbeat may a worker start requests."""
RUNS = 3
A_MOMENT = 0.5


def nanoseconds() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def asked_between(made: World, begin: int, end: int) -> int:
    return sum(begin <= entry.at <= end for entry in made.entries())


async def silent(made: World, seconds: float) -> None:
    """The database has just fallen silent: requests end with trust, and none comes after."""
    fell_silent = nanoseconds()
    await asyncio.sleep(seconds)
    trust_ended = fell_silent + int((made.fleet.lease * TRUST + A_MOMENT) * 10**9)
    late = asked_between(made, trust_ended, nanoseconds())
    assert late == 0, f"{late} requests started although nobody could renew the lease"


async def test_while_the_database_is_frozen_requests_end_with_trust_and_then_work_goes_on(
    fleet: Fleet, practice: PracticeProcess, postgres: Server, postgres_url: str
) -> None:
    async with world(postgres_url, fleet, practice) as made:
        for _ in range(2):
            fleet.worker()
        await made.submit(made.pages(20, 30))
        await made.done(100, 30)
        with postgres.frozen():
            await silent(made, fleet.lease + 1.5)
        reckoning = await made.reckoning(40)
        print(reckoning)
        assert reckoning.violations == []
        assert fleet.crashes() == []
        assert fleet.logged("heartbeat_missed")


async def test_a_worker_cut_off_from_the_database_stops_in_time_and_goes_on_when_it_is_back(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    """A black hole: connections stand, nothing passes. What it was about to say arrives late."""
    async with Proxy(postgres_url) as proxy, world(postgres_url, fleet, practice) as made:
        fleet.worker(database_url=proxy.url)
        await made.submit(made.pages(20, 40))
        await made.done(100, 30)
        proxy.stall()
        await silent(made, fleet.lease + 1)
        proxy.flow()
        before = await made.count("SELECT count(*) FROM attempts")
        await made.done(before + 100, 20)
        proxy.cut()
        reckoning = await made.reckoning(40)
        print(reckoning)
        assert reckoning.violations == []
        assert fleet.crashes() == []


async def test_with_one_connection_and_locks_held_for_long_work_waits_and_goes_on(
    patient_fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    """The heartbeat has a connection of its own: nobody dies of this, nothing is asked twice."""
    fleet = patient_fleet
    async with world(postgres_url, fleet, practice) as made:
        fleet.worker(db_pool_size=1)
        await made.submit(made.pages(20, 30))
        await made.done(50, 30)
        holding = await asyncpg.connect(postgres_url)
        for lock in ("LOCK TABLE visits", "SELECT id FROM pages FOR UPDATE"):
            await holding.execute(f"BEGIN; {lock}")
            await asyncio.sleep(1.2 * fleet.lease)
            await holding.execute("ROLLBACK")
            before = await made.count("SELECT count(*) FROM attempts")
            await made.done(before + 50, 20)
        await holding.close()
        reckoning = await made.reckoning(40)
        print(reckoning)
        assert reckoning.violations == []
        assert reckoning.in_vain == {}
        assert fleet.logged("declared_dead") == fleet.crashes() == []


async def test_a_worker_that_freezes_within_a_transaction_does_not_keep_its_sources_from_others(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    """Its locks outlive it: nobody closes the connection of a machine that stands still."""
    async with Proxy(postgres_url) as proxy, world(postgres_url, fleet, practice) as made:
        proxy.freeze_within(of_a_flush)
        frozen = fleet.worker(database_url=proxy.url)
        await made.submit(made.pages(20, 40, plain=True))
        await asyncio.wait_for(proxy.frozen.wait(), PATIENCE)
        frozen.pause()
        survivor = fleet.worker()
        await until(lambda: _has_said(survivor, "worker_died"), PATIENCE, survivor.tail)
        frozen.kill()
        reckoning = await made.reckoning(40)
        assert reckoning.violations == []


async def _has_said(process: Process, event: str) -> bool:
    return bool(process.logged(event))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED: a full disk needs the right to mount a small file system")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> Path:
    filling = disk / "filling"
    with filling.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return filling


async def submit_many(made: World) -> None:
    """One after the other: what is left of the file's last page may still do for some."""
    for _ in range(200):
        page = PageRequest(made.site.url(0, f"/page/{made.number()}"))
        submitted = await made.submitter.submit(JobRequest(door="fetch", pages=[page]))
        made.jobs.append(submitted.job)


async def test_a_full_disk_stops_work_with_a_clear_line_and_loses_nothing(
    small_disk: Path, sqlite_template: Path, practice: PracticeProcess, folder: Path
) -> None:
    shutil.copy(sqlite_template, small_disk / "curtsy.db")
    url = f"sqlite:///{small_disk}/curtsy.db"
    with Fleet(folder, url, disk_low_bytes=0, disk_reserve_bytes=0) as fleet:  # until it is full
        async with world(url, fleet, practice) as made:
            worker = fleet.worker()
            await made.submit(made.pages(20, 40))
            await made.done(60, 30)
            filling = fill(small_disk)

            async def told() -> bool:
                lines = worker.logged("flush_waits_for_store")
                return any("disk is full" in line["reason"] for line in lines)

            await until(told, 20, worker.tail)
            with pytest.raises(StoreFull):
                await submit_many(made)
            await asyncio.sleep(fleet.lease)
            filling.unlink()
            reckoning = await made.reckoning(40)
            print(reckoning)
            assert reckoning.violations == []
            assert fleet.crashes() == []


@asynccontextmanager
async def old_reader(url: str) -> AsyncIterator[None]:
    """Somebody looks at the database as it is now, and keeps looking."""
    if url.startswith("postgresql"):
        reading = await asyncpg.connect(url)
        await reading.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM visits")
        yield
        await reading.close()
        return
    file = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    file.execute("BEGIN")
    file.execute("SELECT count(*) FROM visits").fetchone()
    yield
    file.close()


async def test_a_snapshot_held_open_for_the_whole_run_does_not_slow_it_down(
    database_url: str, practice: PracticeProcess, folder: Path
) -> None:
    """A machine that stutters does: what slows down by itself does so each time."""
    with Fleet(folder, database_url, min_delay_seconds=0.02) as fleet:
        async with world(database_url, fleet, practice) as made:
            fleet.worker()
            for _ in range(RUNS):
                begun = made.clock.now()
                async with old_reader(database_url):
                    await made.submit(made.pages(40, 60, plain=True))
                    await made.all_ended(60)
                seconds = await made.store.read(partial(_seconds_of_each_third, since=begun))
                print(f"seconds of each third of the pages: {seconds}")
                if seconds[2] < 3 * seconds[0] + 1:
                    break
            else:
                pytest.fail(f"each of {RUNS} runs became slower, the last one as {seconds}")
            reckoning = await made.reckoning(60)
            print(reckoning)
            assert reckoning.violations == []


def _seconds_of_each_third(connection: Connection, since: int) -> list[float]:
    ends = text("SELECT ended_at FROM attempts WHERE ended_at > :since ORDER BY 1")
    at = list(run(connection, ends, {"since": since}).scalars())
    cuts = [at[0], at[len(at) // 3], at[2 * len(at) // 3], at[-1]]
    return [(after - before) / 1000 for before, after in pairwise(cuts)]
