"""Fixtures that give every test a real database of its own, on both engines."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from curtsy import logs
from curtsy.clock import Clock
from curtsy.frontier.timekeeping import synchronise
from curtsy.store import Store
from curtsy.store.upgrade import upgrade
from support.postgres import Postgres

TEMPLATE = "curtsy_template"

logs.configure("INFO", "text")


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
def postgres_url(postgres: Postgres) -> Iterator[str]:
    url = postgres.create_database(TEMPLATE)
    yield url
    postgres.drop_database(url)


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


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    async with Store(database_url) as opened:
        yield opened


@pytest.fixture
async def clock(store: Store) -> Clock:
    kept = Clock()
    await synchronise(store, kept)
    return kept


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("CURTSY_"):
            monkeypatch.delenv(name)
