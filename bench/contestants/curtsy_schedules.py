"""Fills a database with schedules and runs the maintenance that a real one would have had."""

from typing import Any

import orjson
import uvloop

from bench.children import contestant
from bench.contestants.curtsy_load import settle
from bench.setting_up import opened
from curtsy.clock import DAY, HOUR
from curtsy.store import Connection, Statement
from curtsy.timetable import Cron, to_json

AT_ONCE = 1_000
HOSTS = 100
"""Pages of each job, in both databases: the cost of a submit is another benchmark."""

_INSERT = Statement(
    """
    INSERT INTO schedules (public_id, name, rule, payload, overlap, window_ms, next_fire_at,
                           look_at, created_at, updated_at)
    SELECT name, name, :rule, payload, 'allow', :day, at, at, :now, :now FROM {made} WHERE true
    """,
    made={"name": "text", "payload": "text", "at": "bigint"},
)


def payload(number: int) -> str:
    url = f"http://host-{number % HOSTS}.example/"
    return orjson.dumps({"fetch": {"url": url}}).decode()


async def run(database: str, schedules: int) -> dict[str, Any]:
    rule = to_json(Cron("0 7 * * *", "Europe/Berlin"))
    async with opened(database) as (store, clock):
        now = clock.now()
        for first in range(0, schedules, AT_ONCE):
            made = [(f"s{n}", payload(n), now + DAY + n * HOUR // schedules)
                    for n in range(first, min(first + AT_ONCE, schedules))]  # fmt: skip

            def insert(connection: Connection, made: list[Any] = made) -> None:
                _INSERT(connection, made=made, rule=rule, day=DAY, now=now)

            await store.write(insert)
        await store.read(settle)
    return {"schedules": schedules}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
