"""What each metric means, read from the tables themselves."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import orjson
import pytest

from curtsy.alerts.builtin_rules import BUILTIN
from curtsy.alerts.evaluation import Values
from curtsy.alerts.metric import Metric
from curtsy.alerts.readings import of_sources, reader, system
from curtsy.alerts.readings.of_sites import (
    RecordCounts,
    slots_of_sites,
    slots_without_success,
)
from curtsy.alerts.readings.reader import MetricReader
from curtsy.alerts.readings.space import FreeSpace
from curtsy.alerts.rule import Measure
from curtsy.alerts.state_machine import GONE
from curtsy.clock import DAY, HOUR, MINUTE, SECOND
from curtsy.politeness.host_health import Hosts
from curtsy.politeness.last_hour import LastHour
from curtsy.politeness.policy import Policy
from curtsy.reports.ready_pages import ready_pages
from curtsy.store import Connection, Store
from curtsy.store.space import Space
from support.incidents import GIGABYTE, World, run
from support.schedules import Hand
from support.sql import statements_ran

T = TypeVar("T")
CLOSED = object()
"""In place of hours that are closed now."""
PAGES = 300


class Scene:
    def __init__(self, store: Store, hand: Hand) -> None:
        self.store, self.hand, self.world = store, hand, World()
        self.concurrency = 1
        """Of sources whose policy does not say it."""

    async def do(self, work: Callable[[Connection], T]) -> T:
        return await self.store.write(work)

    async def run(self, sql: str, **values: Any) -> None:
        await self.do(lambda c: run(c, sql, **values) and None)

    async def source(self, name: str, *, ready: int | None, pages: int, **more: Any) -> None:
        """`ready`: since when its next request may start, in milliseconds before now."""
        values = {"policy": {}, "delay_ms": 1_000, "owner": None, "paused": False, "band": 2,
                  "next_fetch_at": None} | more  # fmt: skip
        await self.run(
            "INSERT INTO sources (name, policy, delay_ms, owner, paused, band, next_fetch_at, "
            "ready_at, created_at) VALUES (:name, :policy, :delay_ms, :owner, :paused, :band, "
            ":next_fetch_at, :ready_at, :now)", name=name, now=self.hand.at,
            ready_at=None if ready is None else self.hand.at - ready,
            **values | {"policy": orjson.dumps(values["policy"]).decode()},
        )  # fmt: skip
        await self.do(lambda c: [run(
            c, "INSERT INTO visits (page_id, source_id, priority, rank, turn, created_at) "
            "SELECT :page + 1000 * id, id, 5, :page, 1, :now FROM sources WHERE name = :name",
            page=page, now=self.hand.at, name=name) for page in range(pages)] and None)  # fmt: skip

    async def ready_pages(self) -> float:
        defaults = Policy(concurrency=self.concurrency)
        work = partial(ready_pages, defaults=defaults, now=self.hand.at)
        return await self.store.read(work)

    async def site_values(self, counts: RecordCounts | None = None) -> tuple[Values, Values]:
        counted = counts or RecordCounts()

        def read(connection: Connection) -> tuple[Values, Values]:
            slots = slots_of_sites(connection)
            return slots_without_success(slots), counted.of_usual(connection, slots)

        return await self.store.read(read)


@pytest.fixture
async def scene(store: Store, hand: Hand) -> Scene:
    return Scene(store, hand)


@pytest.fixture
async def built(scene: Scene) -> Scene:
    await scene.do(lambda c: scene.world.build(c, scene.hand.at))
    return scene


async def test_only_what_the_pace_would_have_let_start_by_now_waits_for_a_worker(
    scene: Scene,
) -> None:
    await scene.source("quick", ready=10 * SECOND, pages=PAGES, delay_ms=2_000)
    assert await scene.ready_pages() == 6
    await scene.source("short", ready=HOUR, pages=3)
    assert await scene.ready_pages() == 6 + 3
    await scene.source("wide", ready=9 * SECOND, pages=PAGES, policy={"concurrency": 4})
    assert await scene.ready_pages() == 6 + 3 + 40
    scene.concurrency = 2
    assert await scene.ready_pages() == 12 + 3 + 40, "by the settings, which all have"


@pytest.mark.parametrize("more", [
    {"ready": -HOUR}, {"ready": None}, {"ready": 1 * SECOND}, {"paused": True},
    {"policy": CLOSED}, {"owner": "w_1", "next_fetch_at": 1},
])  # fmt: skip
async def test_deliberate_delay_is_no_backlog(scene: Scene, more: dict[str, Any]) -> None:
    """Later turns, no work, a lease that is about to come, a pause, closed hours, a lane."""
    if more.get("policy") is CLOSED:
        minute = scene.hand.at % DAY // MINUTE
        hours = {"start": (minute - 60) % 1_440, "end": (minute + 60) % 1_440, "closed": True}
        more = {"policy": {"hours": hours}}
    await scene.source("a", **{"ready": 10 * MINUTE, "pages": PAGES} | more)
    assert await scene.ready_pages() == 0


async def test_an_hourly_limit_lets_no_more_start_than_it_allows(scene: Scene) -> None:
    policy = {"requests_per_hour": 60, "burst_limit": 10}
    await scene.source("a", ready=10 * MINUTE, pages=PAGES, policy=policy)
    assert await scene.ready_pages() == 10 + 10


async def test_pages_of_leased_sources_wait_for_a_worker_if_all_its_slots_are_in_use(
    scene: Scene,
) -> None:
    now = scene.hand.at
    await scene.do(lambda c: scene.world.start_worker(c, now))
    await scene.source("a", ready=HOUR, pages=PAGES, owner="w_1", next_fetch_at=now - MINUTE)
    assert await scene.ready_pages() == 0
    await scene.run("UPDATE workers SET slots = 2, in_flight = '[1, 2]'")
    assert await scene.ready_pages() == 61


async def test_the_cost_does_not_grow_with_the_sources(scene: Scene) -> None:
    await scene.source("a", ready=10 * MINUTE, pages=PAGES)
    with statements_ran() as few:
        await scene.ready_pages()
    for n in range(250):
        await scene.source(f"s{n}", ready=10 * MINUTE, pages=1)
    with statements_ran() as many:
        assert await scene.ready_pages() > 100
    assert len(few) == len(many) <= 6


async def test_the_use_of_a_limit_falls_as_the_hour_passes(built: Scene) -> None:
    now = built.hand.at
    hour = LastHour()
    for n in range(57):
        hour.add(now - HOUR + (n + 1) * MINUTE, 60)
    pace = {"hour": hour.before(now - 3 * MINUTE)}
    await built.do(lambda c: built.world.set_pace(c, "busy", now - 3 * MINUTE, pace))

    async def used(at: int) -> Any:
        return (await built.store.read(lambda c: of_sources.limit_use(c, now=at))).of("busy")

    assert await used(now) == 95
    assert await used(now + 30 * MINUTE) == pytest.approx(45, abs=2)
    assert await used(now + 2 * HOUR) == 0
    values = await built.store.read(lambda c: of_sources.limit_use(c, now=now))
    assert values.by_subject.keys() == {"busy"}, "the others have no limit"


async def test_hosts_are_given_up_until_they_answer(built: Scene) -> None:
    hosts, now = Hosts(), built.hand.at
    hosts.give_up("a.example", now - HOUR, "dns")
    hosts.give_up("b.example", now, "connect")
    for expected, answered in ((2, "a.example"), (1, "b.example"), (0, "c.example")):
        pace = hosts.stored(now)
        await built.do(lambda c: built.world.set_pace(c, "lost", now, pace))  # noqa: B023
        found = await built.store.read(of_sources.hosts_given_up)
        assert found.of("lost") == expected
        hosts.answered(answered)


async def test_success_of_few_pages_is_unknown(scene: Scene) -> None:
    async def rate(at: int) -> Any:
        work = lambda c: system.success_rate(c, now=at, window=HOUR, at_least=20)  # noqa: E731
        return (await scene.store.read(work)).of("")

    now = scene.hand.at
    assert await rate(now) is None
    await scene.do(lambda c: scene.world.count(c, now - MINUTE, good=1, bad=18))
    assert await rate(now) is None
    await scene.do(lambda c: scene.world.count(c, now - 2 * MINUTE, good=1, bad=0))
    assert await rate(now) == 10
    assert await rate(now + 2 * HOUR) == 10, "there are no newer pages"
    assert await rate(now + 3 * HOUR) is None, "it was long ago"
    await scene.do(lambda c: scene.world.count(c, now + HOUR, good=30, bad=0))
    assert await rate(now + HOUR + MINUTE) == 100, "of the last hour: it has enough"
    assert await rate(now + 2 * HOUR + 30 * MINUTE) == 100, "what was before is over"


async def test_an_incident_that_is_over_does_not_come_back_with_time(built: Scene) -> None:
    """Neither in all nor for one source, whether it is known to be in trouble or not."""
    now = built.hand.at - built.hand.at % HOUR

    async def rates(at: int, *known: str) -> list[Any]:
        def work(connection: Connection) -> list[Any]:
            terms: dict[str, Any] = {"now": at, "window": HOUR, "at_least": 20}
            of_all = system.success_rate(connection, **terms)
            of_each = of_sources.success_of_sources(connection, **terms, known=known)
            return [of_all.of(""), of_each.of("lost")]

        return await built.store.read(work)

    for at, good, bad in ((now, 0, 100), (now + 70 * MINUTE, 40, 0)):
        await built.do(lambda c: built.world.count(c, at, good=good, bad=bad))  # noqa: B023
        await built.do(lambda c: built.world.count_source(c, "lost", at, good=good, bad=bad))  # noqa: B023
    assert await rates(now + 10 * MINUTE) == [0, 0]
    for later in range(130, 240, 10):
        [of_all, of_source] = await rates(now + later * MINUTE, "lost")
        assert (of_all, of_source) == (100, 100)
        assert await rates(now + later * MINUTE) == [100, 100]


async def test_a_source_in_trouble_is_read_until_it_is_well_and_then_unknown(built: Scene) -> None:
    now = built.hand.at
    if now % HOUR == 0:  # an hour that begins now has no past
        now += MINUTE

    async def count(good: int, bad: int) -> None:
        await built.do(lambda c: built.world.count_source(c, "lost", now, good=good, bad=bad))

    async def rate(at: int, *known: str) -> Any:
        return (await built.store.read(lambda c: of_sources.success_of_sources(
            c, now=at, window=HOUR, at_least=20, known=known))).of("lost")  # fmt: skip

    assert await rate(now, "lost") is None
    await count(30, 0)
    assert await rate(now) is None, "nobody asks for sources without failures"
    assert await rate(now, "lost") == 100
    assert await rate(now + 5 * HOUR, "lost") == 100, "of the last day: there are no newer pages"
    assert await rate(now + 26 * HOUR, "lost") is None
    await built.run("DELETE FROM sources WHERE name = 'lost'")
    assert await rate(now, "lost") is GONE


async def test_workers_that_shut_down_take_no_work(built: Scene) -> None:
    now = built.hand.at
    assert (await built.store.read(lambda c: system.live_workers(c, now=now))).of("") == 1
    await built.run("UPDATE workers SET draining = :yes", yes=True)
    assert (await built.store.read(lambda c: system.live_workers(c, now=now))).of("") == 0
    await built.run("UPDATE workers SET memory_bytes = NULL")
    memory = await built.store.read(lambda c: system.worker_memory(c, now=now))
    assert memory.of("w_1 on here") is None


async def test_a_worker_is_gone_when_it_was_declared_dead_and_not_before(built: Scene) -> None:
    now = built.hand.at

    async def read(*, is_doubtful: bool = False) -> list[Any]:
        memory = await built.store.read(
            lambda c: system.worker_memory(c, now=now, is_doubtful=is_doubtful)
        )
        alive = await built.store.read(lambda c: system.live_workers(c, now=now))
        return [memory.of("w_1 on here"), alive.of("")]

    assert await read() == [200, 1]
    await built.do(lambda c: built.world.set_lease(c, now))
    assert await read() == [None, 0], "its next heartbeat may come"
    await built.do(lambda c: built.world.set_lease(c, now - HOUR))
    assert await read() == [GONE, 0], "nobody is there to declare it dead"
    assert await read(is_doubtful=True) == [None, 0], "an hour may not have passed"
    await built.run("DELETE FROM workers")
    assert await read() == [GONE, 0]


@pytest.mark.parametrize("outcome", ["missed", "refused"])
async def test_missed_and_refused_slots_count_for_the_window(built: Scene, outcome: str) -> None:
    now = built.hand.at
    for at, how in ((now, outcome), (now - 30 * MINUTE, outcome), (now - 2 * HOUR, outcome),
                    (now, "fired"), (now, "skipped"), (now + HOUR, outcome)):  # fmt: skip
        await built.do(lambda c: built.world.slot(c, "nightly", at, outcome=how))  # noqa: B023
    found = await built.store.read(lambda c: system.missed_slots(c, now=now, window=HOUR))
    assert found.of("nightly") == 2
    assert found.of("quiet") == 0


async def test_a_site_is_silent_since_its_last_success(built: Scene) -> None:
    now = built.hand.at
    for state, expected in (
        ("refused", 1), ("failed", 2), ("running", 2), ("skipped", 2), ("cancelled", 3),
        ("partial", 0), ("skipped", 0), ("failed", 1),
    ):  # fmt: skip
        what = {"outcome": state} if state in ("refused", "skipped") else {"state": state}
        await built.do(lambda c: built.world.slot(c, "quiet", now, **what))  # noqa: B023
        silent, _records = await built.site_values()
        assert silent.of("quiet") == expected, state
    assert silent.of("thin") == 0
    await built.run("UPDATE sites SET enabled = :no WHERE name = 'quiet'", no=False)
    silent, _records = await built.site_values()
    assert "quiet" not in silent.by_subject


async def test_a_site_whose_runs_last_for_many_slots_and_fail_is_silent(built: Scene) -> None:
    now = built.hand.at
    for _ in range(4):
        await built.do(lambda c: built.world.slot(c, "quiet", now, state="failed"))
        for _ in range(9):
            await built.do(lambda c: built.world.slot(c, "quiet", now, outcome="skipped"))
    silent, _records = await built.site_values()
    assert silent.of("quiet") == 4


async def test_records_are_compared_with_the_median_of_earlier_complete_runs(built: Scene) -> None:
    now, counts = built.hand.at, RecordCounts()
    await built.do(lambda c: built.world.slot(c, "thin", now, state="succeeded", records=9))
    assert (await built.site_values(counts))[1].of("thin") == 45
    await built.do(lambda c: built.world.slot(c, "thin", now, state="failed", records=0))
    assert (await built.site_values(counts))[1].of("thin") == 45, "a failed run says nothing"
    await built.do(lambda c: built.world.slot(c, "thin", now, state="succeeded", records=30))
    assert (await built.site_values(counts))[1].of("thin") == 150
    with statements_ran("sightings") as ran:
        await built.site_values(counts)
    assert ran == [], "what was counted changes no more"


async def test_without_enough_earlier_runs_nothing_is_usual(scene: Scene) -> None:
    now = scene.hand.at
    await scene.do(lambda c: scene.world.build(c, now))
    await scene.run("DELETE FROM firings")
    for number in range(3):
        await scene.do(lambda c: scene.world.slot(c, "thin", now, state="succeeded", records=20))
        assert (await scene.site_values())[1].of("thin") is None, number
    await scene.do(lambda c: scene.world.slot(c, "thin", now, state="succeeded", records=1))
    assert (await scene.site_values())[1].of("thin") == 5


def test_the_disk_fills_at_the_pace_of_the_last_hour() -> None:
    free, at = FreeSpace(), 0

    def seen(gigabytes: float) -> float | None:
        space = Space(None, None, int(gigabytes * GIGABYTE))
        free.add(space, at)
        return free.hours_until_full(space, at)

    assert seen(100) is None, "of one reading"
    for _ in range(5):
        at += 5 * MINUTE
        assert seen(100) is None, "of less than half an hour"
    at += 5 * MINUTE
    assert seen(100) == 1_000, "it does not fill"
    at += 30 * MINUTE
    assert seen(90) == pytest.approx(9, abs=0.1)
    at += DAY
    assert seen(90) != 9, "what is older than an hour is forgotten"
    assert free.hours_until_full(Space(None, None, None), at) is None


async def test_an_error_in_one_metric_leaves_the_others_known(
    built: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(reader.system, "worker_memory", broken)
    metrics = MetricReader(store=built.store, clock=built.hand.clock, policy=Policy())
    measures = {rule.measure for rule in BUILTIN.values()}
    found = await metrics.read(measures, {})
    assert {one.metric for one in measures} - {one.metric for one in found} == {
        Metric.WORKER_MEMORY}  # fmt: skip


async def test_while_the_time_is_doubtful_what_happened_in_a_window_is_unknown(
    built: Scene,
) -> None:
    metrics = MetricReader(store=built.store, clock=built.hand.clock, policy=Policy())
    missed, workers = Measure(Metric.MISSED_SLOTS, HOUR, 20), Measure(Metric.LIVE_WORKERS, 0, 0)
    built.hand.clock.went_ahead()
    assert (await metrics.read({missed, workers}, {})).keys() == {workers}
    built.hand.forward(HOUR)
    assert (await metrics.read({missed, workers}, {})).keys() == {missed, workers}
