"""The instruments of the benchmarks measure what they say."""

import asyncio
import sqlite3
import time
from pathlib import Path

import asyncpg
import pytest

from bench.hostile_pages import SHAPES
from bench.statement_trace import trace_statements
from bench.wire_tap import WireTap


def test_the_wire_tap_counts_statements_and_round_trips(postgres_url: str) -> None:
    async def three_statements(url: str) -> tuple[int, int]:
        connection = await asyncpg.connect(url)
        prepared = await connection.prepare("SELECT $1::int")
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        await prepared.fetch(1)
        await prepared.executemany([(2,), (3,)])
        ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        await connection.close()
        return began, ended

    with WireTap(postgres_url) as tap:
        began, ended = asyncio.run(three_statements(tap.url))
    assert sum(began < at < ended for at in tap.sent.statements) == 3
    assert sum(began < at < ended for at in tap.sent.turns) == 2  # the two go together


def test_the_wire_tap_lets_large_messages_through(postgres_url: str) -> None:
    large = "x" * 3_000_000

    async def echoed(url: str) -> str:
        connection = await asyncpg.connect(url)
        try:
            return str(await connection.fetchval("SELECT $1::text", large))
        finally:
            await connection.close()

    with WireTap(postgres_url) as tap:
        assert asyncio.run(echoed(tap.url)) == large


def test_the_trace_counts_statements_of_every_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "connect", sqlite3.connect)
    monkeypatch.setattr(sqlite3.dbapi2, "connect", sqlite3.connect)
    begun = trace_statements()
    for connect in (sqlite3.connect, sqlite3.dbapi2.connect):
        connection = connect(tmp_path / "a.db", isolation_level=None)
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE IF NOT EXISTS a (n)")
        connection.executemany("INSERT INTO a VALUES (?)", [(1,), (2,)])
        connection.execute("COMMIT")
        connection.close()
    assert len(begun) == 2 * 5


@pytest.mark.parametrize("shape", SHAPES)
def test_a_hostile_page_has_about_the_size_that_is_asked_for(shape: str) -> None:
    assert 45_000 <= len(SHAPES[shape](50_000)) <= 60_000
