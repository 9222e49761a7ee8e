"""A week's load on PostgreSQL, compressed: how many dead rows and how large the tables get with the
autovacuum settings of the schema, beside the server's defaults, in turns on one server."""

import asyncio
from typing import Any

import asyncpg

from bench.databases import Databases, Postgres
from bench.lines import Line
from bench.sizes import Sizes
from curtsy.store import Store
from curtsy.store.upgrade import upgrade

HOURS = 7 * 24
NAPTIME_SECONDS = 1
"""For the minute between two looks of a server: an hour of the week takes less than a second."""
SERVER = {"max_connections": "50", "shared_buffers": "256MB", "max_wal_size": "4GB",
          "fsync": "off", "autovacuum_naptime": f"{NAPTIME_SECONDS}s"}  # fmt: skip
HOUR_SECONDS = 0.5
TABLES = ("visits", "sources", "jobs", "pages", "items", "attempts", "events", "workers")
KEPT_HOURS = 24
"""After so many hours a page and its job are deleted, as by RESULT_DAYS."""
RESET = ", ".join(f"autovacuum_{name}" for name in (
    "vacuum_scale_factor", "vacuum_threshold", "analyze_scale_factor", "vacuum_cost_delay"
))  # fmt: skip

START = """
    INSERT INTO workers (id, beat, lease_until, machine, pid, program, started_at)
        SELECT 'w' || n, 0, 0, '', 1, '', 1 FROM generate_series(1, 10) n;
    INSERT INTO sources (name, created_at) SELECT 'h' || n, 1 FROM generate_series(1, 500) n;
"""
SUBMIT = """
    INSERT INTO jobs (id, public_id, door, scraper, state, total, created_at, updated_at)
        SELECT {hour} * 1000 + n, 'j' || ({hour} * 1000 + n), 'fetch', 'raw', 'queued', 10, {hour},
               {hour} FROM generate_series(1, {pages} / 10) n;
    INSERT INTO pages (id, fingerprint, url, host, scraper, created_at)
        SELECT {hour} * 100000 + n, 'f' || ({hour} * 100000 + n), 'http://h', 'h', 'raw', {hour}
        FROM generate_series(1, {pages}) n;
    INSERT INTO items (job_id, position, page_id, state, priority)
        SELECT {hour} * 1000 + 1 + n / 10, n % 10, {hour} * 100000 + n + 1, 0, 5
        FROM generate_series(0, {pages} - 1) n;
    INSERT INTO visits (page_id, source_id, priority, rank, turn, created_at)
        SELECT {hour} * 100000 + n, n % 500, 5, n, 1, 1 FROM generate_series(1, {pages}) n;
"""
WORK = """
    UPDATE sources SET epoch = epoch + 1, ready_at = {hour}, pace = repeat('x', 200),
        ranks = repeat('y', 100) WHERE id % 10 = {turn};
    UPDATE jobs SET done = done + 1, last_event = last_event + 1, updated_at = {hour}
        WHERE created_at = {hour};
    UPDATE workers SET beat = beat + 1, in_flight = repeat('1', 500);
"""
END = """
    DELETE FROM visits WHERE page_id {of_pages};
    UPDATE pages SET turn = 1, outcome = 'fetched', document_version = 1 WHERE id {of_id};
    UPDATE items SET state = 1, ended_at = 1 WHERE job_id {of_jobs};
    INSERT INTO attempts (page_id, turn, source_id, worker, attempt, outcome, started_at, ended_at)
        SELECT id, 1, 1, 'w', 0, 'fetched', 1, 1 FROM pages WHERE id {of_id};
    INSERT INTO events (job_id, n, at, name)
        SELECT job_id, position + 1, 1, 'page' FROM items WHERE job_id {of_jobs};
"""
FORGET = """
    DELETE FROM items WHERE job_id {of_jobs};
    DELETE FROM events WHERE job_id {of_jobs};
    DELETE FROM attempts WHERE page_id {of_pages};
    DELETE FROM pages WHERE id {of_id};
    DELETE FROM jobs WHERE created_at = {hour};
"""
STATE = """
    SELECT relname, n_dead_tup AS dead, n_live_tup AS live, pg_total_relation_size(relid) AS bytes
    FROM pg_stat_user_tables WHERE relname = ANY($1)
"""


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    del databases  # a server of its own, which looks often what there is to vacuum
    with Postgres(settings=SERVER) as server:
        ours, theirs = server.create_database(), server.create_database()
        found = asyncio.run(_week(ours, theirs, sizes.pages_an_hour))
    lines = []
    for table in TABLES:
        mine, other = found["ours"][table], found["defaults"][table]
        lines.append(Line(
            "vacuum", f"{table}: most dead rows of all, with settings / by default",
            f"{mine['dead']:.0%}, {mine['bytes'] / 2**20:,.1f} MiB",
            f"{other['dead']:.0%}, {other['bytes'] / 2**20:,.1f} MiB",
            mine["dead"] / max(other["dead"], 0.001),
        ))  # fmt: skip
    grown = max(found["ours"][table]["growth"] for table in TABLES if table != "workers")
    default = max(found["defaults"][table]["growth"] for table in TABLES if table != "workers")
    lines.append(Line("vacuum", "the table that grows most after the third day", f"{grown:.2f} x",
                      f"{default:.2f} x", grown, 1.5, at_least=False))  # fmt: skip
    return lines


async def _week(ours: str, theirs: str, pages: int) -> dict[str, Any]:
    connections = {}
    for name, url in (("ours", ours), ("defaults", theirs)):
        async with Store(url) as store:
            await upgrade(store)
        connections[name] = connection = await asyncpg.connect(url)
        for table in TABLES if name == "defaults" else ():
            await connection.execute(f"ALTER TABLE {table} RESET ({RESET})")
        await connection.execute(START)
    watched: dict[str, list[dict[str, Any]]] = {name: [] for name in connections}
    for hour in range(HOURS):
        began = asyncio.get_running_loop().time()
        for name, connection in connections.items():
            await _an_hour(connection, hour, pages)
            watched[name].append({row["relname"]: row for row in
                                  await connection.fetch(STATE, TABLES)})  # fmt: skip
        spent = asyncio.get_running_loop().time() - began
        await asyncio.sleep(max(0.0, HOUR_SECONDS - spent))
    for connection in connections.values():
        await connection.close()
    return {name: _worst(states) for name, states in watched.items()}


async def _an_hour(connection: Any, hour: int, pages: int) -> None:
    await connection.execute(SUBMIT.format(hour=hour, pages=pages))
    for turn in range(10):
        await connection.execute(WORK.format(hour=hour, turn=turn))
    await connection.execute(_of_hour(END, hour))
    if hour >= KEPT_HOURS:
        await connection.execute(_of_hour(FORGET, hour - KEPT_HOURS))


def _of_hour(sql: str, hour: int) -> str:
    return sql.format(
        hour=hour, of_pages=_range("page_id", hour * 100_000, 100_000),
        of_id=_range("id", hour * 100_000, 100_000), of_jobs=_range("job_id", hour * 1_000, 1_000),
    )  # fmt: skip


def _range(column: str, after: int, number: int) -> str:
    return f"> {after} AND {column} <= {after + number}"


def _worst(states: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Of each table in the second half of the week: the largest part of dead rows and size, and how
    much larger it got than it was after the third day."""
    found = {}
    for table in TABLES:
        late = [state[table] for state in states[len(states) // 2 :]]
        then = states[3 * 24][table]["bytes"]
        found[table] = {
            "dead": max(one["dead"] / max(one["dead"] + one["live"], 1) for one in late),
            "bytes": max(one["bytes"] for one in late),
            "growth": max(one["bytes"] for one in late) / then,
        }
    return found
