"""Whatever is appended, folded and rolled up in whatever order: the history has the sums of a small
model, and loses and repeats nothing."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.history import reader
from curtsy.history.facts import FAILED, NO_REQUEST, OUTCOMES, Fact, Fate, batch_call
from curtsy.history.fold import fold_sources, fold_totals
from curtsy.history.roll_up import roll_up_sources, roll_up_totals
from curtsy.history.tally import Tally
from curtsy.store import Connection, Store
from support.history import by_source, figures, in_all, of_all_time, sum_of
from support.sql import run, text

BEGIN = 20_000 * DAY
SOURCES, KINDS = range(1, 5), ("timeout", "gone")
AGES = (0, MINUTE, 50 * MINUTE, 4 * HOUR, 30 * HOUR, 3 * DAY, 40 * DAY)

span = st.integers(0, 10**9)
outcomes = st.sampled_from([
    *((n, None, fate) for n, name in enumerate(OUTCOMES) if name != "failed"
      for fate in (Fate.SUCCEEDED, Fate.CONTINUED)),
    *((n, kind, fate) for n in (FAILED, NO_REQUEST) for kind in KINDS
      for fate in (Fate.RETRIED, Fate.GIVEN_UP, Fate.BURIED, Fate.CONTINUED)),
])  # fmt: skip
facts = st.builds(
    lambda source_id, band, outcome, numbers: (0, source_id, band, *outcome, *numbers),
    st.sampled_from(SOURCES), st.integers(1, 3), outcomes,
    st.tuples(span, span, span, span, span, span, span),
)  # fmt: skip
steps = st.one_of(
    st.tuples(st.just("append"), st.lists(facts, min_size=1, max_size=4), st.sampled_from(AGES)),
    st.tuples(st.just("fold_totals"), st.integers(1, 3)),
    st.tuples(st.just("fold_sources"), st.integers(1, 3)),
    st.tuples(st.just("time"), st.sampled_from([MINUTE, HOUR, DAY, 20 * DAY, -2 * HOUR])),
    st.just(("roll_up",)),
)


class History:
    """Runs steps on a database, and remembers all facts."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._now = connection, BEGIN
        self._facts: list[Fact] = []
        for table in ("history", "history_batches"):
            run(connection, text(f"DELETE FROM {table}"))

    def step(self, name: str, *given: object) -> None:
        getattr(self, f"_{name}")(*given)
        whole = figures(sum_of(self._facts))
        assert figures(in_all(self._connection)) == whole
        assert figures(of_all_time(self._connection)) == whole
        found = by_source(self._connection)
        for source_id in SOURCES:
            mine = sum_of(fact for fact in self._facts if fact[1] == source_id)
            assert figures(found.get(source_id, Tally())) == figures(mine)

    def _append(self, results: list[Fact], age: int) -> None:
        """Results may be late, as of a worker that could not reach the database."""
        minute = (self._now - age) // MINUTE
        told: list[Fact] = [(minute, *result[1:]) for result in results]
        statement, values = batch_call(told, at=self._now - age)
        statement(self._connection, **values)
        self._facts += told

    def _fold_totals(self, most: int) -> None:
        fold_totals(self._connection, now=self._now, most=most)

    def _fold_sources(self, most: int) -> None:
        fold_sources(self._connection, now=self._now, most=most)

    def _time(self, by: int) -> None:
        self._now += by

    def _roll_up(self) -> None:
        roll_up_totals(self._connection, now=self._now)
        roll_up_sources(self._connection, now=self._now)

    def ends(self) -> None:
        """Readers find the same sums as the model, in any number of points."""
        self._fold_totals(1_000)
        self._fold_sources(1_000)
        whole = sum_of(self._facts)
        period = {"since": 0, "until": self._now + DAY}
        totals = reader.totals(self._connection, **period)
        assert (totals.requests, totals.bytes) == (whole.requests, whole.bytes)
        assert sum(band.requests for band in totals.bands.values()) == whole.requests
        assert totals.wait.sum_ms == whole.wait_ms
        for points in (1, 7, 500):
            series = reader.series(self._connection, points=points, **period)
            assert len(series) <= points
            assert sum(point.totals.requests for point in series) == whole.requests
        sources = reader.by_source(self._connection, most=9, **period)
        assert sum(source.totals.requests for source in sources) == whole.requests
        numbers = [source.totals.requests for source in sources]
        assert numbers == sorted(numbers, reverse=True)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as private:
        yield private


def test_the_history_has_the_sums_of_what_happened(
    runner: asyncio.Runner, database_url: str
) -> None:
    store = Store(database_url)
    runner.run(store.__aenter__())

    examples = 40 if store.is_sqlite else 10

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(st.lists(steps, max_size=12))
    def explore(chosen: list[tuple[object, ...]]) -> None:
        def work(connection: Connection) -> None:
            history = History(connection)
            for name, *more in chosen:
                history.step(str(name), *more)
            history.ends()

        runner.run(store.write(work))

    try:
        explore()
    finally:
        runner.run(store.__aexit__(None, None, None))
