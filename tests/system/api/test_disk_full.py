import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from api.front import assert_problem, front
from api.visitors import MovableClock
from curtsy.clock import MINUTE, Clock
from curtsy.store import Store
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
