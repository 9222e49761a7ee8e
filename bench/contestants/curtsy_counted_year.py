"""The size of our history after many days of a page a second, on a clock of its own."""

import random
from itertools import chain
from typing import Any

import uvloop

from bench.children import contestant
from bench.history_rows import age, at_hour, count, facts
from bench.setting_up import opened
from curtsy.clock import DAY, HOUR
from curtsy.store import Statement, Store

BEGIN = 20_000 * DAY
PAGES_AN_HOUR = 3_600
_ROWS = Statement("SELECT count(*) FROM history")
_BYTES = Statement(
    "SELECT sum(pg_total_relation_size(CAST(name AS regclass))) FROM {tables}",
    tables={"name": "text"},
)
_FILE = Statement(
    "SELECT (SELECT page_count FROM pragma_page_count()) * (SELECT page_size "
    "FROM pragma_page_size())"
)


async def run(database: str, sources: int, days: int) -> dict[str, Any]:
    rng = random.Random(1)
    async with opened(database) as (store, _clock):
        of_hours = [facts(rng, sources=sources, pages=PAGES_AN_HOUR) for _ in range(24)]
        for day in range(BEGIN // DAY, BEGIN // DAY + days):
            hours = ((day * DAY // HOUR + n, one) for n, one in enumerate(of_hours))
            await count(store, chain.from_iterable(at_hour(one, hour) for hour, one in hours),
                        now=(day + 1) * DAY)  # fmt: skip
            await age(store, now=(day + 1) * DAY)
        rows = await store.read(lambda c: _ROWS(c).scalar_one())
        return {"rows": rows, "bytes": int(await _size(store))}


async def _size(store: Store) -> int:
    """What the rows need: autovacuum, which keeps up with real days, does not with these."""
    if not store.is_sqlite:
        await store.read(lambda c: c.execute("VACUUM FULL history") and None)
        tables = [("history",)]
        return await store.read(lambda c: _BYTES(c, tables=tables).scalar_one())
    return await store.read(lambda c: _FILE(c).scalar_one())


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
