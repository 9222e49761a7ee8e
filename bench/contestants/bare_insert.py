"""The same URLs into one table with a unique index, by executemany, in one transaction."""

import sqlite3
import time
from typing import Any

import asyncpg
import uvloop

from bench.children import contestant
from bench.setting_up import invented_urls

CREATE = ("CREATE TABLE bare (id {id}, url text NOT NULL)", "CREATE UNIQUE INDEX u ON bare (url)")


def on_sqlite(path: str, rows: list[tuple[str]]) -> float:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    for statement in CREATE:
        connection.execute(statement.format(id="INTEGER PRIMARY KEY"))
    began = time.perf_counter()
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO bare (url) VALUES (?)", rows)
    connection.execute("COMMIT")
    seconds = time.perf_counter() - began
    connection.close()
    return seconds


async def on_postgresql(url: str, rows: list[tuple[str]]) -> float:
    connection = await asyncpg.connect(url)
    for statement in CREATE:
        await connection.execute(statement.format(id="bigserial PRIMARY KEY"))
    began = time.perf_counter()
    async with connection.transaction():
        await connection.executemany("INSERT INTO bare (url) VALUES ($1)", rows)
    seconds = time.perf_counter() - began
    await connection.close()
    return seconds


def measure(database: str, urls: int, hosts: int) -> dict[str, Any]:
    rows = [(url,) for url in invented_urls(urls, hosts)]
    if database.startswith("sqlite:///"):
        seconds = on_sqlite(database.removeprefix("sqlite:///"), rows)
    else:
        seconds = uvloop.run(on_postgresql(database, rows))
    return {"urls": len(rows), "seconds": seconds}


if __name__ == "__main__":
    contestant(measure)
