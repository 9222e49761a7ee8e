"""Processor time of one small statement: through the store, through SQLAlchemy and its dialects,
and by the driver alone. They take turns in one process, each on a connection of its own."""

import sqlite3
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import sqlalchemy
import uvloop
from sqlalchemy.ext.asyncio import create_async_engine

from bench.children import contestant
from bench.setting_up import opened, submit
from curtsy.store import Connection, Statement, Store
from curtsy.store.sqlite import PRAGMAS

SQL = "SELECT id, public_id, state, total, done FROM jobs WHERE public_id = {job}"
STATEMENT = Statement(SQL.format(job=":job"))
URL = "http://host.example/"
Way = Callable[[], Awaitable[None]]
"""Runs the statement as often as was agreed."""


def through_store(store: Store, job: str, calls: int) -> Way:
    def work(connection: Connection) -> None:
        for _ in range(calls):
            STATEMENT(connection, job=job).all()

    async def run() -> None:
        await store.read(work)

    return run


def on_sqlite(path: str, job: str, calls: int) -> dict[str, Way]:
    engine = sqlalchemy.create_engine(f"sqlite+pysqlite:///{path}")
    raw = sqlite3.connect(path, isolation_level=None)
    for pragma in PRAGMAS:
        raw.execute(pragma)
    marked = SQL.format(job="?")

    async def through_sqlalchemy() -> None:
        with engine.connect() as connection:
            for _ in range(calls):
                connection.exec_driver_sql(marked, (job,)).all()

    async def by_driver() -> None:
        for _ in range(calls):
            raw.execute(marked, (job,)).fetchall()

    return {"sqlalchemy": through_sqlalchemy, "driver": by_driver}


async def on_postgresql(url: str, job: str, calls: int) -> dict[str, Way]:
    engine = create_async_engine(url.replace("postgresql://", "postgresql+asyncpg://"))
    text = sqlalchemy.text(SQL.format(job=":job"))
    prepared = await (await asyncpg.connect(url)).prepare(SQL.format(job="$1"))

    def work(connection: sqlalchemy.Connection) -> None:
        for _ in range(calls):
            connection.execute(text, {"job": job}).all()

    async def through_sqlalchemy() -> None:
        async with engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.run_sync(work)

    async def by_driver() -> None:
        for _ in range(calls):
            await prepared.fetch(job)

    return {"sqlalchemy": through_sqlalchemy, "driver": by_driver}


async def run(database: str, calls: int, pairs: int) -> dict[str, Any]:
    """Microseconds of processor time a statement, all threads of the process together."""
    async with opened(database) as (store, clock):
        (job,) = await submit(store, clock, [URL])
        ways = {"store": through_store(store, job, calls)}
        if database.startswith("sqlite:///"):
            ways |= on_sqlite(database.removeprefix("sqlite:///"), job, calls)
        else:
            ways |= await on_postgresql(database, job, calls)
        spent: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(1 + pairs):
            for name, way in ways.items():
                began = time.process_time()
                await way()
                spent[name].append((time.process_time() - began) / calls * 1e6)
    return {name: times[1:] for name, times in spent.items()}  # the first round warms up


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
