"""Chaos with real processes. `--soak-seconds N` makes the long ones last that long."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from chaos.server import Server
from curtsy.demo.process import PracticeProcess
from curtsy.store import Store
from curtsy.store.upgrade import upgrade
from support.postgres import TEMPLATE
from support.processes import Fleet

HOSTS = 60
PATIENT_LEASE = 5
"""Seconds: a worker may start requests for four fifths of it after a heartbeat, and beats three
times in it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak-seconds", type=int, default=0, help="how long the chaos lasts")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    soak = soak_seconds(config)
    for item in items:
        if soak and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(soak + 300), append=False)


def soak_seconds(config: pytest.Config) -> int:
    """0 also where this file was found too late for its option to be known."""
    return int(config.getoption("soak_seconds", 0) or os.environ.get("SOAK_SECONDS", "0"))


@pytest.fixture
def lasts(request: pytest.FixtureRequest) -> float | None:
    """Seconds that a chaos is to last, where somebody asked for that."""
    return soak_seconds(request.config) or None


def upgraded(url: str) -> None:
    """Outside a loop: the database gets its tables."""

    async def work() -> None:
        async with Store(url) as store:
            await upgrade(store)

    asyncio.run(work())


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server of our own: the other tests keep theirs running."""
    with Server() as server:
        server.run(f"CREATE DATABASE {TEMPLATE}")
        upgraded(server.url(TEMPLATE))
        yield server


@pytest.fixture(scope="session")
def practice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PracticeProcess]:
    memory = Path("/dev/shm")  # a site that waits for a disk stamps late
    where = memory if memory.is_dir() else tmp_path_factory.mktemp("site")
    log = where / f"curtsy-chaos-{os.getpid()}.jsonl"
    with PracticeProcess(hosts=HOSTS, log_path=log) as site:
        assert site.pid is not None
        _before_all_others(site.pid)
        yield site
    log.unlink()


def _before_all_others(pid: int) -> None:
    """The site notes when a request arrives: where many processes want the processor, that note
    must not wait for one. Where this is not allowed its stamps are late now and then."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, -15)
    with suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(10))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


@pytest.fixture
def fleet(postgres_url: str, folder: Path) -> Iterator[Fleet]:
    with Fleet(folder, postgres_url) as made:
        yield made


@pytest.fixture
def patient_fleet(postgres_url: str, folder: Path) -> Iterator[Fleet]:
    """Whoever stands still for two seconds keeps its lease, and what it has asked for."""
    with Fleet(folder, postgres_url, lease_seconds=PATIENT_LEASE) as made:
        yield made


@pytest.fixture
def file_fleet(sqlite_url: str, folder: Path) -> Iterator[Fleet]:
    with Fleet(folder, sqlite_url) as made:
        yield made
