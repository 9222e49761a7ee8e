"""The hot statements touch what they need and no more, with 50,000 visits waiting.

Buffers are counted, not milliseconds: they are the same on a busy machine.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

import orjson
import pytest

from curtsy.clock import Clock
from curtsy.frontier.batch import Batch, Document, Release, Result, SourceReport
from curtsy.frontier.clock_sync import synchronise
from curtsy.frontier.control import lost_visits, source_news
from curtsy.frontier.flush import flush
from curtsy.frontier.lease import Lease, LowWater, lease
from curtsy.frontier.take import Visit, take
from curtsy.frontier.worker_rows import WorkerRow, register
from curtsy.model.outcome import Fetched
from curtsy.store import Connection, Store
from curtsy.worker.visit_buffer import VisitBuffer
from support.engine import Engine, engine
from support.explaining import explained
from support.sql import run, text

LARGE = 20_000
SMALL = 300
WORKER = "w_test"
MANY_OLD_JOBS = """
    INSERT INTO jobs (public_id, door, scraper, state, total, created_at, updated_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
    SELECT 'old_' || n, 'fetch', 'raw', 'succeeded', 1, 1, 1 FROM n
"""
MANY_SOURCES = """
    INSERT INTO sources (name, ready_at, created_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30000)
    SELECT 'old_' || n, CAST(:now AS bigint) - 30000 + n, 1 FROM n
"""


@pytest.fixture
async def full(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)


async def filled(curtsy: Engine) -> None:
    """One source with 20,000 visits and three hundred with a hundred each."""
    await curtsy.submit(*(f"http://large.example/{n}" for n in range(LARGE)))
    await curtsy.submit(*(f"http://s{n % SMALL}.example/{n}" for n in range(SMALL * 100)))
    await curtsy.execute(MANY_OLD_JOBS)
    now = curtsy.clock.now()
    row = WorkerRow(WORKER, "here", 1, "curtsy")
    await curtsy.store.write(lambda c: register(c, row, lease_until=now, now=now))


async def lease_some(curtsy: Engine, want: int, low_water: LowWater | None = None) -> list[Lease]:
    now, version = curtsy.clock.now(), curtsy.clock.version
    low = low_water or LowWater()
    return await curtsy.store.write(
        lambda c: lease(c, worker=WORKER, wants={2: want}, low_water=low, clock_version=version,
                        now=now)
    )  # fmt: skip


async def lease_the_large_one(curtsy: Engine) -> Lease:
    await curtsy.execute("UPDATE sources SET ready_at = 1 WHERE name = 'large.example'")
    [leased] = await lease_some(curtsy, 1)
    return leased


def result(visit: Visit) -> Result:
    document = Document(b"x" * 200, f"h{visit.page_id}", "text/html", None, 200)
    return Result(visit, Fetched(200, visit.url), 1, 2, document=document)


def report(leased: Lease, ranks: str = "{}", release: Release | None = None) -> SourceReport:
    return SourceReport(leased.source_id, leased.epoch, next_fetch_at=1, delay_ms=1000, ranks=ranks,
                        pace="{}", paced_at=None, fail_streak=0, failing_since=None,
                        release=release)  # fmt: skip


def tell(curtsy: Engine, batch: Batch):  # type: ignore[no-untyped-def]
    now = curtsy.clock.now()
    return lambda c: flush(c, batch, worker=WORKER, delay_ms=1000, now=now)


EMPTY_SAYS_ANALYZE = "UPDATE pg_class SET reltuples = 0 WHERE relname = 'pages'"
"""As ANALYZE leaves it when it runs while one large transaction fills the table."""


async def test_a_submit_probes_its_pages_whatever_the_statistics_say(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Store(postgres_url) as store:
        curtsy = engine(store, Clock())
        await curtsy.submit("http://large.example/first")  # counts the waiting pages once
        await curtsy.execute(EMPTY_SAYS_ANALYZE)
        with explained(monkeypatch) as plans:
            await curtsy.submit(*(f"http://large.example/new/{n}" for n in range(200)))
    assert plans.scanned <= {"hosts"}, "which is small"
    visits_and_items = plans.of("INSERT INTO visits").expressions.values()
    assert 0 < sum(visits_and_items) <= 200 * 60


async def test_a_lease_costs_the_same_whatever_waits(
    full: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await full.execute(MANY_SOURCES, now=full.clock.now())
    await full.store.write(lambda c: run(c, text("ANALYZE")) and None)
    with explained(monkeypatch) as plans:
        assert len(await lease_some(full, 32)) == 32
    assert plans.scanned == set()
    assert plans.buffers <= 32 * 25


async def test_a_take_reads_what_it_returns(full: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    leased = await lease_the_large_one(full)
    reading = VisitBuffer(leased.source_id, leased.ranks, 0)
    wish = reading.take_request(50, rewind=True)
    with explained(monkeypatch) as plans:
        taken = await full.store.write(lambda c: take(c, [wish], now=full.clock.now()))
    assert len(taken[leased.source_id]) == 50
    assert plans.scanned == set()
    assert plans.buffers <= 50 * 8


async def test_a_take_probes_its_pages_however_many_the_planner_expects(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not know how few visits a take wants, and may expect thousands of each source."""
    async with Store(postgres_url) as store:
        curtsy = engine(store, Clock())
        await curtsy.execute("UPDATE pg_class SET reltuples = 5000000 WHERE relname = 'visits'")
        small = await curtsy.query("SELECT id FROM sources WHERE name LIKE 's%.example' LIMIT 20")
        wishes = [VisitBuffer(row.id, {}, 0).take_request(2, rewind=True) for row in small]
        with explained(monkeypatch) as plans:
            taken = await store.write(lambda c: take(c, wishes, now=curtsy.clock.now()))
    assert sum(map(len, taken.values())) == 20 * 2
    assert plans.scanned == set()
    assert plans.buffers <= 20 * 60


@pytest.mark.parametrize("more", [True, False])
async def test_a_flush_costs_its_results_and_no_more(
    full: Engine, monkeypatch: pytest.MonkeyPatch, more: bool
) -> None:
    leased = await lease_the_large_one(full)
    wish = VisitBuffer(leased.source_id, {}, 0).take_request(100, rewind=True)
    taken = await full.store.read(lambda c: take(c, [wish], now=full.clock.now()))
    results = [result(visit) for visit in taken[leased.source_id]]
    last = Release(more=more, band=2, known_band=2, looks=0)
    batch = Batch(results, {leased.source_id: report(leased, release=last)})
    with explained(monkeypatch) as plans:
        flushed = await full.store.write(tell(full, batch))
    assert flushed.recorded == 100
    assert plans.scanned == set()
    assert plans.buffers <= 100 * 60
    assert len(plans.seen) <= 16, "a fixed number of statements"


async def test_the_number_of_statements_in_a_flush_does_not_depend_on_its_batch(
    full: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = set()
    for size in (1, 300):
        leased = await lease_the_large_one(full)
        wish = VisitBuffer(leased.source_id, {}, 0).take_request(size, rewind=True)
        taken = await full.store.read(lambda c, w=wish: take(c, [w], now=full.clock.now()))
        told = report(leased, release=Release(True, 2, 2, 0))
        batch = Batch([result(v) for v in taken[leased.source_id]], {leased.source_id: told})
        with explained(monkeypatch) as plans:
            await full.store.write(tell(full, batch))
        numbers.add(len(plans.seen))
    assert len(numbers) == 1


async def test_control_reads_only_what_is_held(
    full: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = await lease_some(full, 20)
    held = [(page, 1, 1) for page in range(1, 201)]
    with explained(monkeypatch) as plans:
        await full.store.write(lambda c: source_news(c, [leased.source_id for leased in leases]))
        await full.store.write(lambda c: lost_visits(c, held))
    assert plans.scanned - {"sources"} == set()
    assert plans.buffers <= 200 * 5 + 20 * 10


class Holding:
    """A snapshot held open, as by a forgotten transaction: no dead row can be cleaned up."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def __aenter__(self) -> None:
        self._context = self._store._engine._pool.connection()  # type: ignore[attr-defined]
        self._connection = (await self._context.__aenter__()).raw
        await self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        # A forgotten transaction of ours is ended after seconds; one of somebody else's is not.
        await self._connection.execute("SET idle_in_transaction_session_timeout = 0")
        await self._connection.execute("SELECT count(*) FROM visits")

    async def __aexit__(self, *_: object) -> None:
        await self._connection.execute("ROLLBACK")
        await self._context.__aexit__(None, None, None)


@pytest.fixture
async def held(postgres_url: str) -> AsyncIterator[Engine]:
    """A full PostgreSQL store, and a snapshot held from before the work begins."""
    clock = Clock()
    async with Store(postgres_url) as store, Store(postgres_url) as other:
        await synchronise(store, clock)
        async with Holding(other):
            yield engine(store, clock)


async def drain(curtsy: Engine, leased: Lease, reading: VisitBuffer, batches: int) -> None:
    """Fetch a hundred at a time, each batch five virtual seconds after the last."""
    for number in range(batches):
        wish = reading.take_request(100, rewind=number % 2 == 0)
        taken = await curtsy.store.read(lambda c, w=wish: take(c, [w], now=curtsy.clock.now()))
        reading.add(taken[leased.source_id])
        visits = []
        while (visit := reading.pop()) is not None:
            visits.append(visit)
        told = report(leased, reading.ranks(number * 5_000))
        batch = Batch([result(v) for v in visits], {leased.source_id: told})
        await curtsy.store.write(tell(curtsy, batch))
        for visit in visits:
            reading.flushed(visit)


async def test_a_held_snapshot_does_not_make_reading_dearer(
    held: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    leased = await lease_the_large_one(held)
    reading = VisitBuffer(leased.source_id, leased.ranks, 0)
    await drain(held, leased, reading, batches=60)
    ranks = reading.ranks(300_000)

    async def buffers(fresh: VisitBuffer, *, from_zero: bool) -> int:
        wish = fresh.take_request(50, rewind=True, from_zero=from_zero)
        with explained(monkeypatch) as plans:
            taken = await held.store.write(lambda c: take(c, [wish], now=held.clock.now()))
        assert taken[leased.source_id]
        return plans.buffers

    going_on = await buffers(reading, from_zero=False)
    next_owner = await buffers(
        VisitBuffer(leased.source_id, orjson.loads(ranks), 0), from_zero=False
    )
    without = await buffers(VisitBuffer(leased.source_id, {}, 0), from_zero=True)
    bound = 2_600  # sixty seconds of dead rows, at twenty a second, and the fifty read
    assert going_on <= bound
    assert next_owner <= bound
    assert without > 5_000, "without the floor every dead row is read again"


async def test_a_held_snapshot_does_not_make_leasing_dearer(
    held: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    low_water = LowWater()
    await held.execute(MANY_SOURCES, now=held.clock.now())
    await held.store.write(lambda c: run(c, text("ANALYZE")) and None)

    async def cycle(times: int) -> None:
        def work(c: Connection) -> None:
            for _ in range(times):
                now = held.clock.now()
                got = lease(c, worker=WORKER, wants={2: 8}, low_water=low_water,
                            clock_version=held.clock.version, now=now)  # fmt: skip
                last = Release(more=True, band=2, known_band=2, looks=0)
                batch = Batch([], {g.source_id: replace(report(g), next_fetch_at=now, release=last)
                                   for g in got})  # fmt: skip
                flush(c, batch, worker=WORKER, delay_ms=0, now=now)

        await held.store.write(work)

    for _ in range(30):
        await cycle(20)
    later = held.clock.now() + 120_000

    async def buffers(low: LowWater) -> int:
        def work(c: Connection) -> int:
            low.of(c, [2], now=later, clock_version=held.clock.version)
            with explained(monkeypatch) as plans:
                got = lease(c, worker=WORKER, wants={2: 8}, low_water=low,
                            clock_version=held.clock.version, now=later)  # fmt: skip
            assert len(got) == 8
            return plans.of("UPDATE sources SET owner").expressions["picked"]

        return await held.store.write(work)

    with_mark = await buffers(LowWater())
    blind = LowWater()
    monkeypatch.setattr(blind, "of", lambda *_, **__: {2: 0})
    without = await buffers(blind)
    assert with_mark <= 30
    assert without > 4 * with_mark, "without the mark every dead entry is waded through"
