"""Folding and reading the history touches the rows that it is about, with many others beside them:
a day of three thousand sources."""

from functools import partial

import pytest

from curtsy.clock import DAY, HOUR, MINUTE, Clock
from curtsy.history import fold, reader, roll_up
from curtsy.history.counters import counters
from curtsy.history.facts import Fact, Fate, batch_call
from curtsy.store import Connection, Store
from support.engine import Engine, engine
from support.explaining import explained

SOURCES, HOURS = 3_000, 24
BEGIN = 20_000 * DAY
NOW = BEGIN + HOURS * HOUR
ALSO = ("history",)
COUNTS = "[[1,0,0,0,0],1,0,0,0,9,100,50,[0,50,0,0],{{}},[4,1],[3,1]]"
MAKE = (
    "INSERT INTO sources (name, created_at) " + (NUMBERS := """
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 3000)
    """) + "SELECT 'h' || n || '.example', 1 FROM n",
    f"""
    INSERT INTO history (span, source_id, at, band, requests, failures, counts)
    WITH RECURSIVE h(h) AS (SELECT 0 UNION ALL SELECT h + 1 FROM h WHERE h < {HOURS - 1}),
    n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {SOURCES})
    SELECT 3, n, {BEGIN} + h * {HOUR}, 0, 1 + n % 97, CASE WHEN n % 10 = 0 THEN n % 13 ELSE 0 END,
           '{COUNTS}' FROM h, n
    """,
    f"""
    INSERT INTO history (span, source_id, at, band, counts)
    WITH RECURSIVE m(m) AS (SELECT 0 UNION ALL SELECT m + 1 FROM m WHERE m < {HOURS * 6 - 1})
    SELECT 2, 0, {BEGIN} + m * {10 * MINUTE}, 2, '{COUNTS}' FROM m
    """,
    f"""
    INSERT INTO history_batches (at, facts, counted) {NUMBERS} SELECT {BEGIN}, '[]', true FROM n
    """,
)  # fmt: skip
PERIOD = {"since": BEGIN, "until": NOW}


async def filled(curtsy: Engine) -> None:
    for statement in MAKE:
        await curtsy.execute(statement)


@pytest.fixture
async def many(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)


def fact(source_id: int) -> Fact:
    return (NOW // MINUTE, source_id, 2, 0, None, int(Fate.SUCCEEDED), 5, 5, 0, 0, 0, 0, 0)


READS = {
    "totals": (partial(reader.totals, **PERIOD), 120),
    "series": (partial(reader.series, points=100, **PERIOD), 120),
    "busiest": (partial(reader.by_source, most=20, **PERIOD), 8_000),
    "failing": (partial(reader.by_source, most=20, by="failures", **PERIOD), 8_000),
    "two sources": (partial(reader.of_sources, source_ids=[1, 2], **PERIOD), 120),
    "latest": (partial(reader.latest, now=NOW), 120),
    "counters": (counters, 120),
    "due": (partial(fold.due, now=NOW), 400),
}


async def test_a_read_touches_what_it_shows(many: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (read, most) in READS.items():
        with explained(monkeypatch, also=ALSO) as plans:
            await many.store.write(lambda c: read(c) and None)  # noqa: B023
        assert plans.scanned == set(), (name, [p for p in plans.seen if p.scanned])
        assert plans.buffers <= most, (name, [(p.buffers, p.sql) for p in plans.seen])


async def test_a_fold_touches_the_rows_that_it_changes(
    many: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def append(connection: Connection) -> None:
        statement, values = batch_call([fact(n) for n in range(1, 21)], at=NOW)
        statement(connection, **values)

    await many.store.write(append)
    for work in (fold.fold_totals, partial(fold.fold_sources, most=3)):
        with explained(monkeypatch, also=ALSO) as plans:
            assert await many.store.write(lambda c: work(c, now=NOW))  # noqa: B023
        assert plans.scanned == set(), [p for p in plans.seen if p.scanned]
        assert plans.buffers <= 1_000, [(p.buffers, p.sql) for p in plans.seen]


async def test_a_roll_up_of_sources_touches_the_rows_that_it_moves(
    many: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with explained(monkeypatch, also=ALSO) as plans:
        later = NOW + 3 * DAY
        moved = await many.store.write(lambda c: roll_up.roll_up_sources(c, now=later))
    assert moved == HOURS * (roll_up.SOURCE_IDS_AT_ONCE - 1), "0 is no source"
    assert plans.scanned == set(), [p for p in plans.seen if p.scanned]
    assert plans.buffers <= HOURS * roll_up.SOURCE_IDS_AT_ONCE * 20
