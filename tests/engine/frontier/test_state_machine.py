"""Random histories of the frontier, step by step against a small model, on both engines."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from curtsy.errors import WrongState
from curtsy.frontier.batch import Batch, Release, Result
from curtsy.frontier.take import Visit
from curtsy.history.steps import HistorySteps
from curtsy.model.job_states import band_of
from curtsy.store import Connection, Store
from curtsy.store.schema import metadata
from frontier.model import ENDS, URLS, Ending, Model
from support.frontier import (
    LONG,
    Bench,
    ScriptedWorker,
    Time,
    again,
    failed,
    fetched,
    moved,
    not_modified,
    rested,
    retried,
)
from support.history import attempts_twice_or_never
from support.sql import run, text

PATIENT = settings(
    deadline=None,
    print_blob=True,
    derandomize=False,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
SHRINKING = pytest.mark.timeout(400)
"""A failing history is made small before it is shown, which may take minutes."""


class Machine(RuleBasedStateMachine):
    def __init__(self, runner: asyncio.Runner, store: Store) -> None:
        super().__init__()
        self._run, self._bench = runner.run, Bench(store)
        self._model = Model()
        self._born = 0
        self._url_of: dict[int, str] = {}
        self._last: tuple[ScriptedWorker, Batch] | None = None
        self._hands: list[tuple[ScriptedWorker, Visit]] = []
        """Visits that somebody took, alive or dead, and may still tell of."""
        runner.run(store.write(emptied))

    @initialize()
    def two_workers(self) -> None:
        self._workers = [self._new_worker() for _ in range(2)]

    def _new_worker(self) -> ScriptedWorker:
        self._born += 1
        return self._run(self._bench.worker(f"worker{self._born}"))

    @property
    def _now(self) -> Time:
        return self._bench.time

    # doors

    @rule(
        urls=st.lists(st.sampled_from(URLS), min_size=1, max_size=4, unique=True),
        priority=st.integers(1, 10),
        use_cache=st.booleans(),
    )
    def submit(self, urls: list[str], priority: int, use_cache: bool) -> None:
        max_age = LONG if use_cache else 0
        job = self._run(self._bench.job(*urls, priority=priority, max_age=max_age))
        self._model.submit(job, urls, use_cache)

    @precondition(lambda self: self._model.jobs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(list(self._model.jobs)))
        if self._model.jobs[job].urls_in("waiting"):
            assert self._run(self._bench.cancel(job)) == self._model.cancel(job)
        else:
            with pytest.raises(WrongState):
                self._run(self._bench.cancel(job))

    @precondition(lambda self: self._model.jobs)
    @rule(data=st.data())
    def retry_failures(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(list(self._model.jobs)))
        if self._model.jobs[job].urls_in("failed"):
            assert self._run(self._bench.retry(job)) == self._model.retry(job)
        else:
            with pytest.raises(WrongState):
                self._run(self._bench.retry(job))

    @precondition(lambda self: self._model.jobs)
    @rule(data=st.data())
    def pause_or_resume(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(list(self._model.jobs)))
        if not self._model.jobs[job].urls_in("waiting"):
            for change in (self._bench.pause, self._bench.resume):
                with pytest.raises(WrongState):
                    self._run(change(job))
        elif self._model.jobs[job].paused:
            assert self._run(self._bench.resume(job)) == self._model.resume(job)
        else:
            assert self._run(self._bench.pause(job)) == self._model.pause(job)

    @rule()
    def retry_all_letters(self) -> None:
        assert self._run(self._bench.retry_letters()) == self._model.retry_letters()

    # workers

    @rule(which=st.integers(0, 1), want=st.integers(1, 2))
    def lease_and_take(self, which: int, want: int) -> None:
        self._now.moves(2_000)
        worker = self._workers[which]
        self._run(worker.lease(want))
        for visit in self._run(worker.take()):
            self._hands.append((worker, visit))
        del self._hands[:-40]

    @precondition(lambda self: self._hands)
    @rule(data=st.data(), content=st.sampled_from(["one", "two"]))
    def tell_results(self, data: st.DataObject, content: str) -> None:
        """Finish, fail, postpone: by whoever holds a visit, also long after it lost it."""
        worker, first = data.draw(st.sampled_from(self._hands))
        visits = {v.page_id: v for w, v in self._hands if w is worker} | {first.page_id: first}
        some = data.draw(st.lists(st.sampled_from(list(visits)), max_size=2))
        results, told = [], []
        for page_id in sorted({first.page_id, *some}):
            what = data.draw(st.sampled_from([*ENDS, *ENDS, "retried", "rested", "again", "moved"]))
            url = self._page_url(page_id)
            if what == "not_modified" and not self._model.pages[url].contents:
                what = "fetched"
            results.append(self._result(visits[page_id], what, content))
            told.append((url, visits[page_id], what))
        self._flush(worker, results, told, content)

    @precondition(lambda self: self._late())
    @rule(data=st.data(), what=st.sampled_from([*ENDS, "retried", "again"]))
    def tell_a_late_result(self, data: st.DataObject, what: str) -> None:
        """By the owner of the source, but of a turn that is over: it must be dropped."""
        worker, visit = data.draw(st.sampled_from(self._late()))
        result = self._result(visit, what, "late")
        self._flush(worker, [result], [(self._page_url(visit.page_id), visit, what)], "late")

    def _late(self) -> list[tuple[ScriptedWorker, Visit]]:
        return [
            (worker, visit) for worker, visit in self._hands
            if worker in self._workers
            and not self._model.counts(self._page_url(visit.page_id), visit.turn)
        ]  # fmt: skip

    def _flush(
        self,
        worker: ScriptedWorker,
        results: list[Result],
        told: list[tuple[str, Visit, str]],
        content: str,
    ) -> None:
        ours = self._ours(worker)
        self._last = worker, worker.batch(*results)
        counted = [
            (url, what)
            for url, visit, what in told
            if visit.source_id in ours and self._model.counts(url, visit.turn)
        ]
        flushed = self._run(worker.flush_batch(self._last[1]))
        assert (flushed.recorded, flushed.dropped) == (len(counted), len(told) - len(counted))
        assert flushed.lost_sources == {r.visit.source_id for r in results} - ours
        for url, what in counted:
            self._model.result(url, what, content)

    def _ours(self, worker: ScriptedWorker) -> set[int]:
        rows = self._run(self._bench.rows("SELECT id, owner, epoch FROM sources"))
        return {
            r.id for r in rows
            if r.owner == worker.name and r.id in worker.leases
            and r.epoch == worker.leases[r.id].epoch
        }  # fmt: skip

    def _page_url(self, page_id: int) -> str:
        if page_id not in self._url_of:
            rows = self._run(self._bench.rows("SELECT id, url FROM pages"))
            self._url_of = {row.id: row.url for row in rows}
        return self._url_of[page_id]

    def _result(self, visit: Visit, what: str, content: str) -> Result:
        at = self._now()
        match what:
            case "fetched":
                return fetched(visit, content, at=at)
            case "not_modified":
                return not_modified(visit, at=at)
            case "failed":
                return failed(visit, at=at)
            case "retried":
                return retried(visit, again_at=at + 3_000, at=at)
            case "rested":
                return rested(visit, at=at)
            case "again":
                return again(visit, "on", due_at=at + 100, at=at)
            case _:
                return moved(visit, "https://b.example/elsewhere", at=at)

    @precondition(lambda self: self._last is not None)
    @rule()
    def repeat_the_last_flush(self) -> None:
        assert self._last is not None
        worker, batch = self._last
        if any(r.moved_to_host for r in batch.results):
            return  # telling it again may wake the source it moved to: a hint, not a fact
        ours = self._ours(worker)
        before = self._run(self._bench.dump())
        flushed = self._run(worker.flush_batch(batch))
        after = self._run(self._bench.dump())
        assert flushed.recorded == 0
        differing = [table for table in before if before[table] != after[table]]
        assert differing in ([], ["sources"])
        assert not differing or ours, "only the pace of our own source may be told anew"

    @precondition(lambda self: any(w.leases for w in self._workers))
    @rule(data=st.data(), looks=st.integers(1, 4))
    def release(self, data: st.DataObject, looks: int) -> None:
        holders = [(w, i) for w in self._workers for i in w.leases]
        worker, source_id = data.draw(st.sampled_from(holders))
        waiting = self._run(worker.take(source_id))
        band = band_of(waiting[0].priority) if waiting else 1
        known = self._run(self._bench.row("SELECT band FROM sources WHERE id = :i", i=source_id))
        release = Release(bool(waiting), band, known.band, 0 if waiting else looks)
        self._run(worker.flush(release={source_id: release}))
        self._hands = [
            (w, v) for w, v in self._hands if w is not worker or v.source_id != source_id
        ]
        del worker.leases[source_id]

    @rule(which=st.integers(0, 1))
    def a_worker_is_reaped(self, which: int) -> None:
        """What it held stays in its hands: it may tell of it as a zombie."""
        self._run(self._bench.bury(self._workers[which].name))
        self._workers[which] = self._new_worker()

    @rule()
    def the_history_is_folded(self) -> None:
        history = HistorySteps(store=self._bench.store, clock=self._bench.clock)
        self._run(history.fold_all())
        assert self._run(self._bench.store.read(attempts_twice_or_never)) == {}

    # what must hold

    @invariant()
    def all_promises_hold(self) -> None:
        assert self._run(self._bench.violations()) == []

    @invariant()
    def items_and_visits_are_as_in_the_model(self) -> None:
        items, jobs, visits = self._run(self._bench.store.read(seen))
        assert items == {
            (j, u): e for j, job in self._model.jobs.items() for u, e in job.items.items()
        }
        assert jobs == {j: job.round for j, job in self._model.jobs.items()}
        assert visits == {u: p.closed + 1 for u, p in self._model.pages.items() if p.waits}

    @invariant()
    def no_source_with_visits_is_forgotten(self) -> None:
        forgotten = self._run(self._bench.rows(
            "SELECT s.name FROM sources s JOIN visits v ON v.source_id = s.id "
            "WHERE s.owner IS NULL AND s.ready_at IS NULL"
        ))  # fmt: skip
        assert forgotten == []

    def teardown(self) -> None:
        """A clean worker brings every job to its end."""
        worker = self._new_worker()
        self._run(self._bench.bury(*(w.name for w in self._workers)))
        for _ in range(10):
            self._now.moves(60_000)
            visits = self._run(worker.lease_and_take())
            self._run(worker.flush(*[fetched(v, at=self._now()) for v in visits]))
        assert self._run(self._bench.rows("SELECT * FROM visits")) == []
        assert self._run(self._bench.violations()) == []
        assert self._run(self._bench.store.read(attempts_twice_or_never)) == {}


def seen(connection: Connection) -> tuple[dict[Any, Ending], dict[str, int], dict[str, int]]:
    """Items, rounds of jobs and turns of visits, in the model's words."""
    names = ("waiting", "done", "failed", "cancelled")
    rows = run(connection, text(
        "SELECT j.public_id, p.url, i.state, i.document_version, i.kind FROM items i "
        "JOIN jobs j ON j.id = i.job_id JOIN pages p ON p.id = i.page_id"
    ))  # fmt: skip
    items = {(r.public_id, r.url): (names[r.state], r.document_version or r.kind) for r in rows}
    rounds = run(connection, text("SELECT public_id, round FROM jobs"))
    turns = run(
        connection, text("SELECT p.url, v.turn FROM visits v JOIN pages p ON p.id = v.page_id")
    )
    return items, {r.public_id: r.round for r in rounds}, {r.url: r.turn for r in turns}


def emptied(connection: Connection) -> None:
    """As new, with ids from one again: a history must run the same way when it is replayed."""
    tables = [t.name for t in metadata.sorted_tables if t.name not in ("clock", "history_state")]
    if connection.engine == "postgresql":
        run(connection, text(f"TRUNCATE {', '.join(tables)} RESTART IDENTITY"))
        return
    for name in tables:
        run(connection, text(f"DELETE FROM {name}"))


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as private:
        yield private


def explore(runner: asyncio.Runner, url: str, *, examples: int, steps: int) -> None:
    store = Store(url)
    runner.run(store.__aenter__())
    try:
        run_state_machine_as_test(
            lambda: Machine(runner, store),
            settings=settings(PATIENT, max_examples=examples, stateful_step_count=steps),
        )
    finally:
        runner.run(store.__aexit__(None, None, None))


@SHRINKING
def test_random_histories_match_the_model_on_sqlite(
    runner: asyncio.Runner, sqlite_url: str
) -> None:
    explore(runner, sqlite_url, examples=40, steps=30)


@SHRINKING
def test_random_histories_match_the_model_on_postgresql(
    runner: asyncio.Runner, postgres_url: str
) -> None:
    explore(runner, postgres_url, examples=20, steps=25)
