"""The maintenance timetable: each database gets it once, and what people make of it stays."""

import asyncio
from dataclasses import replace

import pytest

from curtsy.clock import MINUTE
from curtsy.maintenance.timetable import RULES, create_timetable
from curtsy.schedules.lookup import Schedule, id_of, locked
from curtsy.schedules.schedule import change, remove, spec_of
from curtsy.sites.site import NAME
from curtsy.store import Connection, Store
from curtsy.timetable import Cron, Every, to_json
from support.engine import Engine
from support.schedules import Hand, made, ticker

TASKS = tuple(RULES)
ALL = [f"maintenance:{task}" for task in TASKS]


async def started(store: Store, hand: Hand, tasks: tuple[str, ...] = TASKS) -> list[str]:
    return await store.write(lambda c: create_timetable(c, tasks, now=hand.clock.now()))


async def names(ask: Engine) -> list[str]:
    return [row.name for row in await ask.query("SELECT name FROM schedules ORDER BY id")]


async def found(store: Store, name: str) -> str:
    return await store.read(lambda c: id_of(c, name, user=None, sees_all=True))


async def test_the_first_start_creates_it_and_later_ones_do_not(
    store: Store, hand: Hand, ask: Engine
) -> None:
    assert await started(store, hand) == ALL
    assert await started(store, hand) == []
    assert await names(ask) == ALL
    rows = await ask.query("SELECT rule, user_id, enabled, look_at FROM schedules ORDER BY id")
    assert [row.rule for row in rows] == [to_json(RULES[task]) for task in TASKS]
    assert all(row.user_id is None and row.enabled and row.look_at is not None for row in rows)


async def test_of_many_processes_that_start_at_once_one_creates_it(
    database_url: str, hand: Hand, ask: Engine
) -> None:
    async def process() -> list[str]:
        async with Store(database_url) as own:
            return await started(own, hand)

    created = await asyncio.gather(*(process() for _ in range(8)))
    assert sorted(len(one) for one in created) == [0] * 7 + [len(ALL)]
    assert await names(ask) == ALL


async def test_one_that_was_removed_never_comes_back(store: Store, hand: Hand, ask: Engine) -> None:
    await started(store, hand)
    cleanup = await found(store, "maintenance:cleanup")
    await store.write(lambda c: remove(c, cleanup, now=hand.clock.now()))
    assert await started(store, hand) == []
    assert "maintenance:cleanup" not in await names(ask)


async def test_one_that_was_changed_stays_so(store: Store, hand: Hand, ask: Engine) -> None:
    await started(store, hand)
    name = await found(store, "maintenance:reports")

    def rarer(connection: Connection) -> Schedule:
        spec = spec_of(locked(connection, name))
        spec = replace(spec, rule=Every(720), enabled=False, name="rare")
        return change(connection, name, spec, now=hand.clock.now())

    await store.write(rarer)
    assert await started(store, hand) == []
    [row] = await ask.query("SELECT name, rule, enabled FROM schedules WHERE payload LIKE '%rep%'")
    assert (row.name, row.rule, bool(row.enabled)) == ("rare", to_json(Every(720)), False)


async def test_a_task_that_somebody_schedules_already_gets_no_other_schedule(
    store: Store, hand: Hand, ask: Engine
) -> None:
    """As in a database from before the timetable."""
    weekly = Cron("0 4 * * 0")
    await made(store, hand.clock, weekly, name="mine", payload={"duty": "cleanup"}, user_id="ann")
    assert await started(store, hand) == [name for name in ALL if name != "maintenance:cleanup"]
    mine = await found(store, "mine")
    await store.write(lambda c: remove(c, mine, now=hand.clock.now()))
    assert await started(store, hand) == []


async def test_a_name_that_is_taken_is_left_to_its_schedule(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await made(store, hand.clock, Every(5), name="maintenance:health")
    assert await started(store, hand) == [name for name in ALL if name != "maintenance:health"]


async def test_a_task_that_is_not_built_yet_gets_its_schedule_with_the_version_that_has_it(
    store: Store, hand: Hand
) -> None:
    """Until then none of its slots is refused again and again."""
    assert await started(store, hand, ("dead_letters", "cleanup")) == [
        "maintenance:dead_letters", "maintenance:cleanup"
    ]  # fmt: skip
    assert await started(store, hand) == ["maintenance:health", "maintenance:reports"]


async def test_its_slots_run_their_tasks(store: Store, hand: Hand, ask: Engine) -> None:
    await started(store, hand, ("dead_letters",))
    scheduler = ticker(store, hand.clock)
    hand.forward(29 * MINUTE)
    assert await scheduler.tick() == [], "not in the first half hour"
    hand.forward(91 * MINUTE)
    [fired] = await scheduler.tick()
    assert fired.task == "dead_letters"
    await scheduler.tasks.step()
    missed, fired_slots = "outcome = 'missed'", "outcome = 'fired'"
    assert len(await ask.query(f"SELECT 1 FROM firings WHERE {missed}")) <= 1
    [slot] = await ask.query(f"SELECT message FROM firings WHERE {fired_slots}")
    assert slot.message == "0 failed pages are retried."


@pytest.mark.parametrize("task", TASKS)
def test_no_site_can_take_its_names(task: str) -> None:
    assert NAME.fullmatch(f"maintenance:{task}") is None


def test_its_rules_are_those_that_are_documented() -> None:
    minutes = {task: rule.minutes for task, rule in RULES.items() if isinstance(rule, Every)}
    assert minutes == {"health": 30, "dead_letters": 60, "reports": 360}
    assert RULES["cleanup"] == Cron("30 3 * * *")
