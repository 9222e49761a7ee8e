"""A module's `filled` fills a database once on each engine; every test works on a copy of it."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from curtsy.clock import Clock
from curtsy.frontier.clock_sync import synchronise
from curtsy.store import Store
from support.engine import Engine, engine
from support.postgres import TEMPLATE, Postgres
from support.sql import run, text

Fill = Callable[[Engine], Awaitable[None]]


@pytest.fixture(scope="module")
def fill(request: pytest.FixtureRequest) -> Fill | None:
    found: Fill | None = getattr(request.module, "filled", None)
    return found


def _filled(url: str, fill: Fill | None) -> None:
    async def work() -> None:
        async with Store(url) as store:
            await synchronise(store, clock := Clock())
            assert fill is not None
            await fill(engine(store, clock))
            await store.write(lambda c: run(c, text("ANALYZE")) and None)

    if fill is not None:
        asyncio.run(work())
        asyncio.run(_vacuumed(url))


async def _vacuumed(url: str) -> None:
    """Autovacuum would do so a while later, and a plan may change with it in the middle of a
    test: PostgreSQL reads an index alone once it knows that all rows are visible."""
    if url.startswith("postgresql"):
        connection = await asyncpg.connect(url.replace("+asyncpg", ""))
        await connection.execute("VACUUM")
        await connection.close()


@pytest.fixture(scope="module")
def filled_file(
    fill: Fill | None, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("filled") / "filled.db"
    shutil.copy(sqlite_template, path)
    _filled(f"sqlite:///{path}", fill)
    return path


@pytest.fixture(scope="module")
def filled_database(fill: Fill | None, postgres: Postgres) -> Iterator[str]:
    url = postgres.create_database(TEMPLATE)
    _filled(url, fill)
    yield url.rsplit("/", 1)[1]
    postgres.drop_database(url)


@pytest.fixture
def sqlite_url(filled_file: Path, tmp_path: Path) -> str:
    path = tmp_path / "curtsy.db"
    shutil.copy(filled_file, path)
    return f"sqlite:///{path}"


@pytest.fixture
def postgres_url(filled_database: str, postgres: Postgres) -> Iterator[str]:
    url = postgres.create_database(filled_database)
    yield url
    postgres.drop_database(url)
