"""A disk that is nearly full: cleanup first, then no new work, and what was fetched is stored."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from curtsy.clock import DAY, MINUTE, Clock
from curtsy.errors import StoreNearlyFull
from curtsy.frontier.clock_sync import synchronise
from curtsy.maintenance.cleanup import Cleanup
from curtsy.maintenance.disk_watch import (
    CHECK_EVERY_SECONDS,
    CLEANUP_EVERY_SECONDS,
    WITHOUT_A_DISK_SECONDS,
    DiskMarks,
    DiskState,
    DiskWatch,
    state_of,
)
from curtsy.store import Store, disk_space
from curtsy.store.fresh_schema import create_schema
from curtsy.store.space import read_space
from curtsy.timetable import Every
from curtsy.worker.link_follower import LinkFollower
from support.engine import LOOPBACK, engine, until
from support.frontier import DELAY, Bench, fetched
from support.schedules import Hand, made, ticker

MIB = 2**20
LOW, RESERVE = 8 * MIB, 4 * MIB
A = "http://a.example/1"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of sixteen mebibytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED: a disk that fills up needs the right to mount a file system")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
async def small_store(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    monkeypatch.setattr(disk_space, "LOOK_EVERY_SECONDS", 0.0)
    async with Store(f"sqlite:///{small_disk}/curtsy.db", reserve_bytes=RESERVE) as store:
        await create_schema(store)
        yield store


async def leave(store: Store, disk: Path, free: int) -> Path:
    """Fills the disk until so much is free; returns the file that takes the space."""
    filling = disk / "filling"
    left = (await read_space(store)).free_bytes or 0
    with filling.open("ab") as file, suppress(OSError):
        file.write(b"x" * (left - free))
    return filling


def watch(bench: Bench, seconds: list[float]) -> DiskWatch:
    cleanup = Cleanup(store=bench.store, clock=bench.clock, keep_days=30)
    return DiskWatch(store=bench.store, cleanup=cleanup, marks=DiskMarks(LOW, RESERVE),
                     seconds=lambda: seconds[0])  # fmt: skip


async def ended(bench: Bench, url: str) -> str:
    worker = await bench.worker()
    job = await bench.job(url)
    for visit in await worker.lease_and_take():
        await worker.flush(fetched(visit, at=bench.time()))
    await worker.leave()
    return job


async def jobs(bench: Bench) -> list[str]:
    return [row.public_id for row in await bench.rows("SELECT public_id FROM jobs ORDER BY id")]


async def test_a_low_disk_is_cleaned_up_early_but_only_by_the_rule(
    small_store: Store, small_disk: Path
) -> None:
    bench, seconds = Bench(small_store), [0.0]
    old = await ended(bench, A)
    bench.time.moves(31 * DAY)
    young = await ended(bench, "http://b.example/1")
    disk = watch(bench, seconds)
    assert (await disk.step(), disk.state) == (CHECK_EVERY_SECONDS, DiskState.OK)
    assert await jobs(bench) == [old, young]
    await leave(small_store, small_disk, LOW - MIB)
    await disk.step()
    assert (disk.state, await jobs(bench)) == (DiskState.LOW, [young])
    bench.time.moves(31 * DAY)
    seconds[0] += CLEANUP_EVERY_SECONDS - 1
    await disk.step()
    assert await jobs(bench) == [young], "not again within minutes"
    seconds[0] += 1
    await disk.step()
    assert await jobs(bench) == []


async def test_below_the_reserve_new_work_is_refused_and_old_work_is_stored(
    small_store: Store, small_disk: Path
) -> None:
    bench = Bench(small_store)
    worker = await bench.worker()
    job = await bench.job(A)
    [visit] = await worker.lease_and_take()
    filling = await leave(small_store, small_disk, RESERVE - MIB)
    with pytest.raises(StoreNearlyFull, match=r"DISK_RESERVE_BYTES \(4,194,304\): nothing new"):
        await bench.job("http://b.example/1")
    assert await jobs(bench) == [job]
    assert (await worker.flush(fetched(visit, "x" * 100_000))).recorded == 1
    assert (await bench.counts(job)).state == "succeeded"
    filling.unlink()
    await bench.job("http://b.example/1")


async def test_a_slot_waits_for_room_and_then_fires_once(
    small_store: Store, small_disk: Path
) -> None:
    bench = Bench(small_store)
    hand = Hand(bench.time())
    hand.clock.version = 1
    await bench.execute("UPDATE clock SET version = 1")
    await made(small_store, hand.clock, Every(1, jitter=False))
    scheduler = ticker(small_store, hand.clock)
    filling = await leave(small_store, small_disk, RESERVE - MIB)
    hand.forward(MINUTE)
    with pytest.raises(StoreNearlyFull):
        await scheduler.tick()
    assert await bench.rows("SELECT * FROM firings") == []
    filling.unlink()
    [fired] = await scheduler.tick()
    assert fired.job is not None
    assert await scheduler.tick() == []


async def test_workers_lease_nothing_and_follow_no_links_until_there_is_room(
    small_store: Store, small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(small_store)
    worker = await bench.worker()
    crawl = await bench.crawl(A, depth=1)
    [visit] = await worker.lease_and_take()
    await worker.flush(fetched(visit, links=["http://a.example/2"]))
    filling = await leave(small_store, small_disk, RESERVE - MIB)
    follower = LinkFollower(store=small_store, clock=bench.clock, delay_ms=DELAY, allow=LOOPBACK)
    await follower.step()
    assert (await bench.counts(crawl)).total == 1
    filling.unlink()
    await follower.step()
    assert (await bench.counts(crawl)).total == 2


async def test_a_worker_begins_nothing_new_below_the_reserve(
    small_store: Store, small_disk: Path
) -> None:
    await synchronise(small_store, clock := Clock())
    whole = engine(small_store, clock)
    job = await whole.submit("http://127.0.0.1:64999/")
    filling = await leave(small_store, small_disk, RESERVE - MIB)
    async with whole.worker() as worker:

        async def waits() -> bool:
            return worker._session is not None and not worker._session._had_room

        await until(waits, 10, lambda: "it did not notice")
        assert (await whole.job(job)).started_at is None
        filling.unlink()

        async def begun() -> bool:
            return (await whole.job(job)).started_at is not None

        await until(begun, 10, lambda: "it does not go on")


@pytest.mark.parametrize("free", [0, RESERVE - 1])
def test_less_than_the_reserve_is_reserved(free: int) -> None:
    for before in DiskState:
        assert state_of(free, DiskMarks(LOW, RESERVE), before) is DiskState.RESERVED


def test_a_disk_at_the_mark_does_not_change_its_state_again_and_again() -> None:
    marks = DiskMarks(LOW, RESERVE)
    assert state_of(LOW, marks, DiskState.OK) is DiskState.OK
    assert state_of(LOW - 1, marks, DiskState.OK) is DiskState.LOW
    assert state_of(LOW, marks, DiskState.LOW) is DiskState.LOW
    assert state_of(int(LOW * 1.1), marks, DiskState.LOW) is DiskState.OK


async def test_the_disk_of_a_server_is_not_watched(postgres_url: str) -> None:
    async with Store(postgres_url, reserve_bytes=2**50) as store:
        bench = Bench(store)
        disk = watch(bench, [0.0])
        assert (await disk.step(), disk.state) == (WITHOUT_A_DISK_SECONDS, DiskState.OK)
        await store.require_room()
