"""Fills a database through the Submitter and runs the maintenance that a real one would have
had."""

import time
from typing import Any

import uvloop

from bench.children import contestant
from bench.setting_up import invented_urls, opened, submit
from curtsy.store import Connection


async def run(database: str, visits: int, sources: int) -> dict[str, Any]:
    async with opened(database) as (store, clock):
        began = time.perf_counter()
        await submit(store, clock, invented_urls(visits, sources))
        seconds = time.perf_counter() - began
        await store.read(settle)
    return {"visits": visits, "seconds": seconds}


def settle(connection: Connection) -> None:
    """Vacuum and statistics on PostgreSQL, where autovacuum sees to them; a checkpoint on both."""
    statements = ["PRAGMA wal_checkpoint(TRUNCATE)"]
    if connection.engine == "postgresql":
        statements = ["VACUUM ANALYZE", "CHECKPOINT"]
    for statement in statements:
        connection.execute(statement)


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
