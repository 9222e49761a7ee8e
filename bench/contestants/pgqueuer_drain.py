"""PgQueuer draining jobs that do nothing, set up as its guide to performance says.

All tables logged (its default and ours), its own autovacuum settings, a connection for each
consumer, uvloop and asyncpg; jobs are enqueued in bulk before the clock starts.
"""

import asyncio
import time
from datetime import timedelta
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

from bench.children import contestant


async def run(database: str, jobs: int, consumers: int, batch_size: int) -> dict[str, Any]:
    connections = [await asyncpg.connect(database) for _ in range(consumers)]
    drivers = [AsyncpgDriver(connection) for connection in connections]
    queries = Queries(drivers[0])
    await queries.install()
    await queries.optimize_autovacuum()
    await queries.enqueue(["nothing"] * jobs, [None] * jobs, [0] * jobs)
    for statement in ("VACUUM ANALYZE", "CHECKPOINT"):
        await connections[0].execute(statement)
    done: list[float] = []

    async def nothing(_job: Job) -> None:
        done.append(time.perf_counter())

    context = [PgQueuer(driver) for driver in drivers]
    for consumer in context:
        consumer.entrypoint("nothing")(nothing)
    began = time.perf_counter()
    await asyncio.gather(*(_drain(consumer, batch_size) for consumer in context))
    ended = time.perf_counter()
    left = await connections[0].fetchval("SELECT count(*) FROM pgqueuer")
    for connection in connections:
        await connection.close()
    return {
        "jobs": len(done) - left, "seconds": ended - began, "last_job": max(done) - began
    }  # fmt: skip


async def _drain(consumer: PgQueuer, batch_size: int) -> None:
    await consumer.run(
        batch_size=batch_size,
        mode=QueueExecutionMode.drain,
        dequeue_timeout=timedelta(seconds=1),
        log_aggregation_interval=timedelta(0),
    )


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
