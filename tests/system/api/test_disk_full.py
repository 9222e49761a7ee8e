import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from api.front import assert_problem, front
from api.visitors import MovableClock
from curtsy.clock import MINUTE, Clock
from curtsy.errors import StoreFull
from curtsy.store import Connection, Store
from curtsy.store.disk_space import REMEMBERED_SECONDS, WriteFailures
from curtsy.store.upgrade import upgrade
from support.engine import engine

PAGE = "http://example.com/"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of two mebibytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED: a full disk needs the right to mount a small file system")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


async def test_a_full_disk_is_told_as_such_and_nothing_acknowledged_is_lost(
    small_disk: Path,
) -> None:
    async with Store(f"sqlite:///{small_disk}/curtsy.db") as store:
        await upgrade(store)
        async with front(store, engine(store, Clock())) as door:
            job = (await door.submit(PAGE)).json["id"]
            filling = small_disk / "filling"
            _fill(filling)

            refused = [await door.submit(f"{PAGE}{n}") for n in range(3)]
            for answer in refused:
                assert_problem(answer, 507, "store_full")
            assert_problem(await door.delete(f"/jobs/{job}"), 507, "store_full")
            assert [j["id"] for j in (await door.get("/jobs")).json["jobs"]] == [job]

            filling.unlink()
            assert (await door.submit(f"{PAGE}0")).status == 201
            assert (await door.delete(f"/jobs/{job}")).status == 200
            assert (await door.get("/jobs")).json["total"] == 2


async def test_health_says_that_the_disk_is_full_before_anybody_tries_to_write(
    small_disk: Path,
) -> None:
    async with Store(f"sqlite:///{small_disk}/curtsy.db") as store:
        await upgrade(store)
        async with front(store, engine(store, Clock())) as door:
            assert (await door.get("/health")).json["store"] == "ok"
            filling = small_disk / "filling"
            _fill(filling)
            full = await door.get("/health")
            assert (full.status, full.json["store"], full.json["status"]) == (
                503, "full", "degraded")  # fmt: skip
            assert full.headers["retry-after"] == "2"
            filling.unlink()
            assert (await door.get("/health")).json["store"] == "ok"


def test_the_doctor_says_that_the_disk_is_full(small_disk: Path) -> None:
    def doctor() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "curtsy", "doctor", "--json"], cwd=small_disk,
                              capture_output=True, text=True, check=False)  # fmt: skip

    subprocess.run([sys.executable, "-m", "curtsy", "db", "upgrade"], cwd=small_disk, check=True)
    fine = doctor()
    assert json.loads(fine.stdout)["disk_full"] is False, fine.stderr
    with closing(sqlite3.connect(small_disk / "curtsy.db")) as service:
        service.execute("SELECT * FROM jobs").fetchall()
        _fill(small_disk / "filling")
        beside_a_service = doctor()
    assert beside_a_service.returncode == 1
    assert json.loads(beside_a_service.stdout)["disk_full"] is True, beside_a_service.stderr
    problems = json.loads(beside_a_service.stdout)["problems"]
    assert [one for one in problems if "disk is full: nothing can be stored" in one]
    _fill(small_disk / "filling more")
    alone = doctor()
    assert alone.returncode == 1
    assert "The database's disk is full" in alone.stderr


async def test_a_write_that_failed_for_want_of_space_is_remembered_until_one_succeeds(
    database_url: str,
) -> None:
    """On PostgreSQL nothing else tells: its disk is another machine's."""
    async with Store(database_url) as store, front(store, engine(store, Clock())) as door:
        assert (await door.get("/health")).json["store"] == "ok"
        with pytest.raises(StoreFull):
            await store.write(_fail_for_want_of_space)
        full = await door.get("/health")
        assert (full.status, full.json["store"]) == (503, "full")
        assert (await door.submit(PAGE)).status == 201
        assert (await door.get("/health")).json["store"] == "ok"


def _fail_for_want_of_space(connection: Connection) -> None:
    """The database itself raises it: PostgreSQL by a statement, SQLite by a limit on its pages."""
    if connection.engine == "postgresql":
        raising = "DO $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END $$"
        connection.execute(raising)
        return
    pages = connection.execute("PRAGMA page_count").scalar_one()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    try:
        connection.execute("CREATE TABLE large (a)")
        connection.execute("INSERT INTO large VALUES (zeroblob(1000000))")
    finally:
        connection.execute("PRAGMA max_page_count = 1073741823")


def test_a_failure_is_not_remembered_for_ever() -> None:
    """Else a server that is asked for nothing but its health would stay ill."""
    failures = WriteFailures()
    failures.failed(100.0)
    assert failures.is_full(100.0 + REMEMBERED_SECONDS - 1)
    assert not failures.is_full(100.0 + REMEMBERED_SECONDS)


async def test_a_slot_that_comes_while_the_disk_is_full_fires_when_it_is_not(
    small_disk: Path,
) -> None:
    async with Store(f"sqlite:///{small_disk}/curtsy.db") as store:
        await upgrade(store)
        movable = MovableClock()
        async with front(store, engine(store, movable)) as door:
            said = {"name": "often", "cron": "* * * * *", "payload": {"fetch": {"url": PAGE}}}
            assert (await door.ask("POST", "/schedules", json=said)).status == 201
            filling = small_disk / "filling"
            _fill(filling)
            movable.advance(MINUTE)
            assert_problem(await door.ask("POST", "/scheduler/run"), 507, "store_full")
            assert (await door.get("/schedules/often/runs")).json["runs"] == []

            filling.unlink()
            [fired] = (await door.ask("POST", "/scheduler/run")).json["data"]["queued"]
            [slot, *_missed] = (await door.get("/schedules/often/runs")).json["runs"]
            assert (slot["outcome"], slot["job_id"]) == ("fired", fired["job_id"])
            assert (await door.get("/jobs")).json["total"] == 1
