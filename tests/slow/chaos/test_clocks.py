"""Clocks that jump by an hour, forward and back, under processes at work."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaos.conftest import upgraded
from chaos.jumping_clock import JumpingClock
from chaos.server import Server
from chaos.world import World, world
from curtsy.demo.process import PracticeProcess
from support.engine import until
from support.patience import PATIENCE
from support.processes import Fleet

HOUR = 3_600
A_MINUTE = 60_000


@pytest.fixture
def clock() -> Iterator[JumpingClock]:
    with JumpingClock() as made:
        yield made


@pytest.fixture
def jumping_server(clock: JumpingClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A PostgreSQL that goes by the jumping clock; only it does."""
    with monkeypatch.context() as patched:
        for name, value in clock.environment.items():
            patched.setenv(name, value)
        server = Server()
        server.__enter__()
    try:
        server.run("CREATE DATABASE jumping")
        upgraded(server.url("jumping"))
        yield server.url("jumping")
    finally:
        server.__exit__()


def jumps_in(fleet: Fleet) -> list[dict[str, Any]]:
    """Those of the test that somebody noticed: the machine's own clock may be set meanwhile."""
    return [line for line in fleet.logged("clock_jumped") if abs(line["by_ms"]) > A_MINUTE]


async def jump(made: World, clock: JumpingClock, ahead: int) -> None:
    """Returns when somebody has noticed."""
    before = len(jumps_in(made.fleet))
    clock.jumps_to(ahead)

    async def noticed() -> bool:
        return len(jumps_in(made.fleet)) > before

    await until(noticed, PATIENCE, made.tails)


async def jumps_forth_and_back(made: World, clock: JumpingClock) -> None:
    """After each jump work goes on within seconds, and no source is asked too soon."""
    await made.submit(made.pages(20, 70))
    await made.done(100, 30)
    for ahead in (HOUR, 0, -HOUR):
        await jump(made, clock, ahead)
        before = await made.count("SELECT count(*) FROM attempts")
        await made.done(before + 250)
    reckoning = await made.reckoning()
    jumps = jumps_in(made.fleet)
    print(f"{reckoning}; {len(jumps)} jumps noticed")
    assert reckoning.violations == []
    assert sum(line["shifted"] for line in jumps) == 3, "each jump shifts what waits once"
    assert made.fleet.crashes() == []


async def test_when_the_databases_clock_jumps_sources_keep_their_distance_and_work_goes_on(
    jumping_server: str, clock: JumpingClock, practice: PracticeProcess, folder: Path
) -> None:
    with Fleet(folder, jumping_server) as fleet:
        async with world(jumping_server, fleet, practice) as made:
            for _ in range(2):
                fleet.worker()
            await jumps_forth_and_back(made, clock)


async def test_when_the_machines_clock_jumps_under_sqlite_work_goes_on_too(
    sqlite_url: str, clock: JumpingClock, practice: PracticeProcess, folder: Path
) -> None:
    with Fleet(folder, sqlite_url, environment=clock.environment) as fleet:
        async with world(sqlite_url, fleet, practice) as made:
            for _ in range(2):
                fleet.worker()
            await jumps_forth_and_back(made, clock)
