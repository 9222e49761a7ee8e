"""Fixtures that give every test a real database of its own, on both engines."""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path

import hypothesis
import pytest

from curtsy import logs
from curtsy.clock import Clock
from curtsy.frontier.clock_sync import synchronise
from curtsy.store import Store
from curtsy.store.upgrade import upgrade
from support.memory import files_in_memory
from support.patience import PATIENCE
from support.postgres import TEMPLATE, Postgres

DAY_SECONDS = 24 * 3600
HERE = Path(__file__).parent
ALONE = {
    "system/api/test_bad_connections.py": "what is left open is closed in time",
}
"""What measures time: beside tests that want the processor, it would measure those."""
CROWDS = {
    "slow/deploy": "a process for each service and each of five consumers",
    "slow/chaos": "gaps, leases and signals of many real processes",
    "slow/races": "fifteen processes' worth of connections, all at once",
}
"""What starts many processes of its own: few such tests run at once, and nothing beside them."""
LONGEST = (
    "system/project/test_readme.py",
    "system/project/test_package.py",
    "system/processes",
    "system/deploy",
    "system/cli/test_processes.py",
    "engine/query_plans",
    "system/cli",
    "system/api/test_articles.py",
    "system/api/test_sites.py",
    "system/api/test_webhooks.py",
    "system/extract",
)
"""Begun first where several files run at once: nobody waits for the last one in the end."""

hypothesis.settings.register_profile(
    "unhurried",
    deadline=None,  # what takes long here says something of the machine
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unhurried")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # so a shell starts what runs in its background, and what tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
logs.configure("INFO", "text")
logs.CONFIGURATION.apply()  # before a test captures lines
files_in_memory()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engines", choices=("both", "sqlite"), default="both",
        help="sqlite: leave out the tests that need PostgreSQL",
    )  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every test is `alone`, of a `crowd`, or neither: so `make test` runs them in three steps."""
    assert all((HERE / place).exists() for place in [*ALONE, *CROWDS, *LONGEST])
    assert all(place.startswith("system/api/") for place in ALONE), (
        "there `make test` looks for them"
    )
    assert all(place.startswith("slow/") for place in CROWDS), "and for these there"
    for item in items:
        if _first_of(tuple(ALONE), item.path) < len(ALONE):
            item.add_marker(pytest.mark.alone)
        if _first_of(tuple(CROWDS), item.path) < len(CROWDS):
            item.add_marker(pytest.mark.crowd)
    items.sort(key=lambda item: _first_of(LONGEST, item.path))
    if config.getoption("engines") == "sqlite":
        left_out = [item for item in items if _needs_postgres(item)]
        items[:] = [item for item in items if not _needs_postgres(item)]
        config.hook.pytest_deselected(items=left_out)


def _needs_postgres(item: pytest.Item) -> bool:
    assert isinstance(item, pytest.Function)
    given = item.callspec.params if hasattr(item, "callspec") else {}
    engines = {given.get("database_url"), given.get("empty_url")}
    return "postgresql" in engines or "postgres" in item.fixturenames


@cache
def _first_of(places: tuple[str, ...], path: Path) -> int:
    """Which of the places the file is in; their number if it is in none."""
    found = (n for n, place in enumerate(places) if path.is_relative_to(HERE / place))
    return next(found, len(places))


async def _upgrade(url: str) -> None:
    async with Store(url) as store:
        await upgrade(store)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        server.run(f"CREATE DATABASE {TEMPLATE}")
        asyncio.run(_upgrade(server.url(TEMPLATE)))
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """One database serves all tests of a process, one after the other: each finds it empty."""
    return postgres.emptied_database(TEMPLATE)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "empty.db"
    asyncio.run(_upgrade(f"sqlite:///{path}"))
    return path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    path = tmp_path / "curtsy.db"
    shutil.copy(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A migrated, empty database: the test runs once on each engine."""
    name = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    url: str = request.getfixturevalue(name)
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database of the test's own, without tables: the test runs once on each engine."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'old.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    url = server.create_database("template0")
    yield url
    server.drop_database(url)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    async with Store(database_url) as opened:
        yield opened


@pytest.fixture
async def clock(store: Store) -> Clock:
    kept = Clock()
    await synchronise(store, kept)
    return kept


@pytest.fixture
def one_day() -> None:
    """The test does not begin on one day and end on the next (UTC)."""
    left = DAY_SECONDS - time.time() % DAY_SECONDS
    if left < PATIENCE:
        time.sleep(left + 1)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("CURTSY_"):
            monkeypatch.delenv(name)
