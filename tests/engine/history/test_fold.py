"""Folding and rolling up: by any number of processes, interrupted at any point, on any clock."""

import asyncio

import pytest

from curtsy.clock import DAY, HOUR, MINUTE, SECOND, Clock
from curtsy.history import fold, roll_up, rows
from curtsy.history.facts import Fact
from curtsy.history.reader import by_source, latest, totals
from curtsy.history.rows import Span
from curtsy.history.steps import HistorySteps
from curtsy.history.tally import tally_of
from curtsy.store import Connection, Store
from support.frontier import Bench
from support.history import append, fact, figures, in_all, of_all_time, sum_of
from support.holding import blocked_or_done, hold
from support.patience import PATIENCE
from support.sql import run, text

BEGIN = 20_000 * DAY


async def spans(store: Store, *, of_sources: bool = False) -> dict[str, int]:
    """The number of rows of each span, and of batches."""
    which = text(f"SELECT span FROM history WHERE source_id {'>' if of_sources else '='} 0")
    found = await store.read(lambda c: run(c, which).scalars())
    return {span.name: found.count(span) for span in Span if span in found}


class Stopped(Exception):
    """In place of a kill: the transaction ends here."""


@pytest.mark.parametrize("at", ["_TOTALS_DUE", "_SOURCES_DUE", "add"])
async def test_a_fold_that_is_killed_leaves_everything_to_the_next(
    store: Store, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    facts = [fact(BEGIN + n * MINUTE, source_id=n) for n in range(1, 6)]
    await append(store, facts[:2], facts[2:])

    def killed(*_given: object, **_values: object) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(fold, at, killed)
        for step in (fold.fold_totals, fold.fold_sources):
            try:
                await store.write(lambda c: step(c, now=BEGIN))  # noqa: B023
            except Stopped:
                break
    await HistorySteps(store=store, clock=Clock(wall=lambda: BEGIN)).fold_all()
    assert figures(await store.read(in_all)) == figures(sum_of(facts))
    assert (await spans(store, of_sources=True)) == {"HOUR": 5}
    assert await store.read(lambda c: run(c, text("SELECT * FROM history_batches")).all()) == []


async def test_a_fold_whose_commit_was_not_heard_of_is_not_repeated(store: Store) -> None:
    """The store says that it is away; the step runs again."""
    await append(store, [fact(BEGIN)])
    for _ in range(3):
        await store.write(lambda c: fold.fold_totals(c, now=BEGIN))
        await store.write(lambda c: fold.fold_sources(c, now=BEGIN))
    assert (await store.read(in_all)).requests == 1


async def test_many_processes_fold_and_roll_up_at_once(store: Store) -> None:
    """Each appends its own facts between its steps."""
    told: list[Fact] = []

    async def process(number: int) -> None:
        for turn in range(8):
            now = BEGIN + turn * 5 * HOUR
            facts = [fact(now - n * MINUTE, source_id=1 + n % 3) for n in range(number + 2)]
            told.extend(facts)
            await append(store, facts)
            await store.write(lambda c: fold.fold_totals(c, now=now, most=2))  # noqa: B023
            await store.write(lambda c: fold.fold_sources(c, now=now, most=2))  # noqa: B023
            await store.write(lambda c: roll_up.roll_up_totals(c, now=now))  # noqa: B023
            await store.write(lambda c: roll_up.roll_up_sources(c, now=now + 3 * DAY))  # noqa: B023

    await asyncio.gather(*(process(number) for number in range(4)))
    await HistorySteps(store=store, clock=Clock(wall=lambda: BEGIN)).fold_all()
    assert figures(await store.read(in_all)) == figures(sum_of(told))


async def test_a_second_process_leaves_the_first_alone(postgres_url: str) -> None:
    """It neither waits for it nor reads what it has not committed."""
    async with Store(postgres_url) as store:
        await append(store, [fact(BEGIN)])
        locked, go_on = asyncio.Event(), asyncio.Event()

        async def first() -> None:
            loop = asyncio.get_running_loop()

            def work(connection: Connection) -> None:
                assert rows.lock(connection)
                loop.call_soon_threadsafe(locked.set)
                asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()
                fold.fold_totals(connection, now=BEGIN)

            await store.write(work, large=True)

        holding = asyncio.create_task(first())
        await locked.wait()
        try:
            async with asyncio.timeout(PATIENCE):
                assert await store.write(lambda c: fold.fold_totals(c, now=BEGIN)) == 0
                assert await store.write(lambda c: roll_up.roll_up_totals(c, now=BEGIN + DAY)) == 0
        finally:
            go_on.set()
        await holding
        assert (await store.read(in_all)).requests == 1
        assert await store.write(lambda c: fold.fold_totals(c, now=BEGIN)) == 0


async def test_who_folds_everything_waits_for_another_that_folds(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report that did not wait would lack what is being folded, and so would the next one."""
    async with Store(postgres_url) as store:
        await append(store, [fact(BEGIN)])
        held = hold(monkeypatch, fold, "add")
        first = asyncio.create_task(store.write(lambda c: fold.fold_totals(c, now=BEGIN)))
        await held.reached()
        second = asyncio.create_task(HistorySteps(store=store, clock=Clock()).fold_all())
        has_waited = await blocked_or_done(store, second)
        held.let_go()
        await first
        await second
        assert has_waited


async def test_more_processes_do_not_fold_more_often(store: Store) -> None:
    """The next fold is due when the stored time says so, whoever asks."""

    async def due(now: int) -> fold.Due:
        return await store.read(lambda c: fold.due(c, now=now))

    assert (await due(BEGIN))[:2] == (False, False), "nothing waits"
    await append(store, [fact(BEGIN, source_id=n) for n in range(1, 1_001)])
    assert (await due(BEGIN))[:2] == (True, True)
    await store.write(lambda c: fold.fold_totals(c, now=BEGIN))
    await store.write(lambda c: fold.fold_sources(c, now=BEGIN))
    await append(store, [fact(BEGIN)])
    later = BEGIN + fold.TOTALS_EVERY
    assert (await due(later - 1))[:2] == (False, False)
    assert (await due(later))[:2] == (True, False), "a thousand rows were written for sources"
    assert (await due(BEGIN + 1_000 * fold.FOR_EACH_ROW))[:2] == (True, True)
    assert (await due(BEGIN - DAY))[:2] == (True, True), "the clock was set back"


async def test_counts_of_all_time_outgrow_an_integer(store: Store) -> None:
    steps = HistorySteps(store=store, clock=Clock(wall=lambda: BEGIN))
    await append(store, [fact(BEGIN)])
    await steps.fold_all()

    def count_many(connection: Connection) -> None:
        found = text("SELECT counts FROM history WHERE span = 0 AND source_id = 0")
        tally = tally_of(run(connection, found).scalar_one())
        tally.attempts[0] = 2**31 - 1
        change = text("UPDATE history SET counts = :counts WHERE span = 0 AND source_id = 0")
        run(connection, change, {"counts": tally.stored()})

    await store.write(count_many)
    await append(store, [fact(BEGIN)])
    await steps.fold_all()
    assert (await store.read(of_all_time)).requests == 2**31


async def test_a_flood_of_batches_is_folded_before_its_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold, "MOST_WAITING", 3)
    await append(store, [fact(BEGIN, source_id=n) for n in range(1, 1_001)])
    await store.write(lambda c: fold.fold_totals(c, now=BEGIN))
    await store.write(lambda c: fold.fold_sources(c, now=BEGIN))
    await append(store, *[[fact(BEGIN)]] * 3)
    assert not (await store.read(lambda c: fold.due(c, now=BEGIN + SECOND))).sources
    await append(store, [fact(BEGIN)])
    assert (await store.read(lambda c: fold.due(c, now=BEGIN + SECOND))).sources


async def test_rows_grow_longer_with_age_and_end(store: Store) -> None:
    await append(store, [fact(BEGIN + n * MINUTE) for n in range(120)])
    await store.write(lambda c: fold.fold_totals(c, now=BEGIN))
    await store.write(lambda c: fold.fold_sources(c, now=BEGIN))
    shapes = []
    for age in (HOUR, 6 * HOUR, 4 * DAY, 40 * DAY, 402 * DAY):
        now = BEGIN + age
        await store.write(lambda c: roll_up.roll_up_totals(c, now=now))  # noqa: B023
        await store.write(lambda c: roll_up.roll_up_sources(c, now=now))  # noqa: B023
        shapes.append((await spans(store), await spans(store, of_sources=True)))
        assert (await store.read(in_all)).requests == 120
    ever = {"ALL_TIME": 1}
    assert shapes == [
        (ever | {"MINUTE": 120}, {"HOUR": 2}),
        (ever | {"TEN_MINUTES": 12}, {"HOUR": 2}),
        (ever | {"HOUR": 2}, {"DAY": 1}),
        (ever | {"DAY": 1}, {"DAY": 1}),
        (ever | {"DAY": 1}, {"DAY": 1}),
    ]
    assert await store.write(lambda c: roll_up.prune(c, now=BEGIN + 402 * DAY)) == 2
    assert (await spans(store), await spans(store, of_sources=True)) == (ever, {})


async def test_of_a_day_that_has_ended_the_busiest_and_the_described_sources_are_kept(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roll_up, "MOST_SOURCES", 2)
    await bench.job(*(f"https://h{n}.example/" for n in range(1, 6)))
    await bench.execute("UPDATE sources SET described = true WHERE id = 1")
    await append(bench.store, [fact(BEGIN, source_id=n) for n in range(1, 6) for _ in range(n)])
    await HistorySteps(store=bench.store, clock=bench.clock).fold_all()
    now = BEGIN + 5 * DAY
    await bench.store.write(lambda c: roll_up.roll_up_sources(c, now=now))
    assert await bench.store.write(lambda c: roll_up.reduce_days(c, now=now)) == 2
    assert await bench.store.write(lambda c: roll_up.reduce_days(c, now=now)) == 0
    found = await bench.store.read(lambda c: by_source(c, since=0, until=BEGIN + DAY, most=9))
    assert [source.source_id for source in found] == [5, 4, 1]
    assert (await bench.store.read(in_all)).requests == 15, "in all, nothing is forgotten"


async def test_a_year_has_as_many_rows_as_the_time_needs(store: Store) -> None:
    """A result every minute, in both bands of two sources; the rows stay bounded."""
    most = 0
    for day in range(0, 500, 25):
        facts = [
            fact(BEGIN + day * DAY + n * 10 * MINUTE, 1 + n % 2, 1 + n % 2) for n in range(144)
        ]
        await append(store, facts)
        now = BEGIN + (day + 1) * DAY
        await store.write(lambda c: fold.fold_totals(c, now=now))  # noqa: B023
        await store.write(lambda c: fold.fold_sources(c, now=now))  # noqa: B023
        await store.write(lambda c: roll_up.roll_up_totals(c, now=now))  # noqa: B023
        await store.write(lambda c: roll_up.roll_up_sources(c, now=now))  # noqa: B023
        await store.write(lambda c: roll_up.prune(c, now=now))  # noqa: B023
        most = max(most, sum((await spans(store)).values()))
    assert most <= 2 + 144 + 24 * 2 + 16 * 2 + 8, "a day by ten minutes, one by hours, old days"
    assert (await spans(store, of_sources=True))["DAY"] <= 2 * 16


async def test_what_happened_before_a_clock_was_set_back_stays_readable(store: Store) -> None:
    """It keeps the time at which it was recorded, which is now in the future."""
    steps = HistorySteps(store=store, clock=Clock())
    await append(store, [fact(BEGIN + HOUR)])
    await append(store, [fact(BEGIN)])  # an hour back, and on
    await steps.fold_all()
    now = BEGIN + 2 * MINUTE
    await store.write(lambda c: roll_up.roll_up_totals(c, now=now))
    await store.write(lambda c: roll_up.prune(c, now=now))
    until = await store.read(lambda c: latest(c, now=now))
    assert until == BEGIN + HOUR + MINUTE
    assert await store.read(lambda c: latest(c, now=until)) == until
    assert await store.read(lambda c: latest(c, now=BEGIN + HOUR)) == BEGIN + HOUR
    found = await store.read(lambda c: totals(c, since=now - HOUR, until=until))
    assert (found.requests, found.until) == (2, until)
    found = await store.read(lambda c: totals(c, since=now - HOUR, until=now))
    assert found.requests == 1, "the last hour, for who asks for that"


async def test_while_the_time_is_doubtful_nothing_is_rolled_up_or_deleted(store: Store) -> None:
    clock = Clock(wall=lambda: BEGIN + 1_000 * DAY)
    await append(store, [fact(BEGIN)])
    steps = HistorySteps(store=store, clock=clock)
    await steps.fold_all()
    clock.went_ahead()
    await steps.roll_up()
    assert (await spans(store)) == {"ALL_TIME": 1, "MINUTE": 1}
    certain = HistorySteps(store=store, clock=Clock(wall=lambda: BEGIN + 1_000 * DAY))
    await certain.roll_up()
    assert (await spans(store)) == {"ALL_TIME": 1}
