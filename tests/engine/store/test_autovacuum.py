"""The tables that change most are vacuumed before their dead rows are many. A week's load is in
`python -m bench vacuum`; this is its small form."""

import asyncio
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from curtsy.store import Store
from curtsy.store.upgrade import upgrade
from support.engine import until
from support.postgres import SETTINGS, TEMPLATE, Postgres

ROWS, CHANGED = 20_000, 2_000
"""Of a queue of this size, so many rows come and go: a tenth, which the defaults leave lying."""
OPTIONS = "SELECT relname, reloptions FROM pg_class WHERE relname = ANY($1) AND relkind = 'r'"
FILL = f"""
    INSERT INTO visits (page_id, source_id, priority, rank, turn, created_at)
    SELECT n, n % 100, 5, n, 1, 1 FROM generate_series(1, {ROWS}) n
"""
CHURN = f"DELETE FROM visits WHERE page_id <= {CHANGED}"
FLUSH = "SELECT pg_stat_force_next_flush()"
VACUUMED = "SELECT autovacuum_count FROM pg_stat_user_tables WHERE relname = $1"
LOOKED_AT = (
    "CREATE TABLE looked_at AS SELECT generate_series(1, 1000)",
    "DELETE FROM looked_at",
    FLUSH,
)
"""A table that also the defaults have vacuumed: then they were asked about the queue as well."""
DEAD = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'visits'"
OFF = "ALTER TABLE visits SET (autovacuum_enabled"
BY_DEFAULT = """
    ALTER TABLE visits RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
                              autovacuum_vacuum_cost_delay)
"""
HOT = ("alert_changes", "alert_deliveries", "alert_evaluations", "alerts", "attempts", "crawled",
       "dead_letters", "documents", "events", "firings", "history", "history_batches",
       "history_state", "hosts", "items", "jobs", "links", "pages", "receipts", "records",
       "schedulers", "schedules", "sightings", "sources", "submissions", "visits",
       "webhook_deliveries", "workers")  # fmt: skip
"""The tables that pages, runs and slots change; people change the others."""


@pytest.fixture(scope="module")
def eager() -> Iterator[Postgres]:
    """A server that looks every second what there is to vacuum."""
    with Postgres(SETTINGS | {"autovacuum_naptime": "1s"}) as server:
        server.run(f"CREATE DATABASE {TEMPLATE}")
        asyncio.run(_upgrade(server.url(TEMPLATE)))
        yield server


async def _upgrade(url: str) -> None:
    async with Store(url) as store:
        await upgrade(store)


async def churned(url: str, *before: str) -> Any:
    """A queue of many rows of which a tenth has gone, and the server knows it. Its inserts, which
    call for a vacuum too, are settled before."""
    connection = await asyncpg.connect(url)
    for statement in (
        *before, f"{OFF} = false)", FILL, FLUSH, "VACUUM ANALYZE visits", CHURN, FLUSH,
        f"{OFF} = true)",
    ):  # fmt: skip
        await connection.execute(statement)
    return connection


@pytest.fixture
def queues(eager: Postgres) -> tuple[str, str]:
    return eager.create_database(TEMPLATE), eager.create_database(TEMPLATE)


async def test_a_tenth_of_a_queue_is_vacuumed_and_by_default_it_would_not_be(
    queues: tuple[str, str],
) -> None:
    ours, theirs = await churned(queues[0]), await churned(queues[1], BY_DEFAULT)
    try:
        for statement in LOOKED_AT:
            await theirs.execute(statement)

        async def vacuumed() -> bool:
            asked = ((ours, "visits"), (theirs, "looked_at"))
            return all([await one.fetchval(VACUUMED, table) for one, table in asked])

        await until(vacuumed, 20, lambda: "autovacuum leaves the queue alone")
        assert await ours.fetchval(DEAD) < CHANGED
        assert await theirs.fetchval(VACUUMED, "visits") == 0
        assert await theirs.fetchval(DEAD) >= CHANGED
    finally:
        await ours.close()
        await theirs.close()


async def test_every_table_that_work_changes_has_settings(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    try:
        found = {row["relname"]: row["reloptions"] for row in await connection.fetch(OPTIONS, HOT)}
    finally:
        await connection.close()
    assert {table for table in HOT if not found.get(table)} == set()
    for options in found.values():
        chosen = dict(option.split("=") for option in options)
        assert float(chosen["autovacuum_vacuum_scale_factor"]) <= 0.02
        assert int(chosen["autovacuum_vacuum_threshold"]) <= 1_000
