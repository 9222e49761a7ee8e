"""What an evaluation writes: with other schedulers, muted, without a store, across clock jumps."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import pytest

from curtsy.alerts import stored_alerts as stored_alerts_module
from curtsy.alerts.builtin_rules import BUILTIN
from curtsy.alerts.channel import ChannelFields
from curtsy.alerts.evaluation import MOST_ALERTS, UNKNOWN, Readings, Values
from curtsy.alerts.evaluator import Evaluator
from curtsy.alerts.metric import Metric
from curtsy.alerts.rule import Measure
from curtsy.alerts.rule_fields import RuleFields
from curtsy.alerts.stored_alerts import prune, stored_alerts
from curtsy.alerts.stored_channels import apply_channels
from curtsy.alerts.stored_rules import (
    apply_rules,
    delete_rule,
    listed_rules,
    mute,
    put_rule,
    unmute,
)
from curtsy.clock import DAY, HOUR, MINUTE, SECOND
from curtsy.errors import NotFound, StoreAway
from curtsy.frontier.fence import TimeShifted
from curtsy.store import Statement, Store
from support.engine import Engine
from support.schedules import Hand
from support.sql import text

JUMP = Statement("UPDATE clock SET version = version + 1")


class ScriptedReader:
    """Values that the test sets."""

    def __init__(self) -> None:
        self.values: dict[Metric, Values] = {}
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        """Runs after the values were read."""
        self.is_away = False

    def set(self, metric: Metric, value: float | None, subject: str = "") -> None:
        self.values[metric] = Values({subject: value})

    async def read(
        self, measures: Collection[Measure], _known: Mapping[Measure, Collection[str]]
    ) -> Readings:
        if self.is_away:
            raise StoreAway("scripted")
        if self.meanwhile is not None:
            await self.meanwhile()
        return {one: self.values.get(one.metric, UNKNOWN) for one in measures}


class Watch:
    def __init__(self, store: Store, hand: Hand, ask: Engine) -> None:
        self.store, self.hand, self._ask = store, hand, ask
        self.reader = ScriptedReader()
        self.evaluator = self.another()

    def another(self) -> Evaluator:
        reader: Any = self.reader
        return Evaluator(store=self.store, clock=self.hand.clock, reader=reader)

    async def after(self, span: int) -> bool:
        self.hand.forward(span)
        return await self.evaluator.evaluate()

    async def every(self, step: int, times: int) -> None:
        for _ in range(times):
            await self.after(step)

    async def set_rule(self, name: str, **fields: Any) -> None:
        given = RuleFields.model_validate(fields)
        await self.store.write(lambda c: put_rule(c, name, given, now=self.hand.at))

    async def set_channels(self, **severities: str) -> None:
        sections = {
            name: ChannelFields.model_validate(
                {"kind": "json", "url": "https://hooks.example.com/", "severity": severity})
            for name, severity in severities.items()
        }  # fmt: skip
        await self.store.write(lambda c: apply_channels(c, sections, now=self.hand.at))

    async def changes(self) -> list[str]:
        rows = await self._ask.query("SELECT rule, subject, phase FROM alert_changes ORDER BY seq")
        return [f"{row.rule} {row.subject} {row.phase}".replace("  ", " ") for row in rows]

    async def messages(self) -> list[str]:
        rows = await self._ask.query(
            "SELECT c.rule, c.phase, d.channel FROM alert_deliveries d "
            "JOIN alert_changes c ON c.seq = d.change_seq ORDER BY d.id, d.channel"
        )
        return [f"{row.rule} {row.phase} {row.channel}" for row in rows]

    async def phases(self) -> dict[str, str]:
        return {one.rule: one.phase for one in await self.store.read(stored_alerts)}


@pytest.fixture
def watch(store: Store, hand: Hand, ask: Engine) -> Watch:
    return Watch(store, hand, ask)


FIRED = ["no_worker firing"]


async def fire(watch: Watch) -> None:
    watch.reader.set(Metric.LIVE_WORKERS, 0)
    await watch.every(15 * SECOND, 9)
    assert await watch.changes() == FIRED


async def test_of_schedulers_that_evaluate_at_once_one_writes(watch: Watch) -> None:
    others = [watch.another() for _ in range(3)]
    watch.reader.set(Metric.LIVE_WORKERS, 0)
    for _ in range(12):
        watch.hand.forward(15 * SECOND)
        wrote = await asyncio.gather(*(one.evaluate() for one in [watch.evaluator, *others]))
        assert any(wrote)
    assert await watch.changes() == FIRED


async def test_a_step_leaves_the_evaluation_to_whoever_has_just_done_it(watch: Watch) -> None:
    assert await watch.after(0)
    turn = (await watch.store.read(lambda c: Statement("SELECT turn FROM alert_evaluations")(c)
                                   .one())).turn  # fmt: skip
    watch.hand.forward(2 * SECOND)
    await watch.another().step()
    after = await watch.store.read(
        lambda c: Statement("SELECT turn FROM alert_evaluations")(c).one()
    )
    assert after.turn == turn
    watch.hand.at -= DAY  # the clock was set back: the last evaluation is in the future
    await watch.another().step()
    after = await watch.store.read(
        lambda c: Statement("SELECT turn FROM alert_evaluations")(c).one()
    )
    assert after.turn == turn + 1


async def test_while_the_store_is_away_nothing_fires_and_nothing_is_resolved(watch: Watch) -> None:
    await fire(watch)
    watch.reader.is_away = True
    for _ in range(3):
        with pytest.raises(StoreAway):
            await watch.after(HOUR)
    watch.reader.is_away = False
    await watch.after(15 * SECOND)
    assert await watch.changes() == FIRED
    watch.reader.set(Metric.LIVE_WORKERS, 1)
    await watch.after(15 * SECOND)
    assert await watch.changes() == [*FIRED, "no_worker resolved"]


async def test_a_night_without_schedulers_does_not_count_as_time_in_which_it_was_bad(
    watch: Watch,
) -> None:
    watch.reader.set(Metric.LIVE_WORKERS, 0)
    await watch.after(0)
    await watch.after(10 * HOUR)
    assert await watch.phases() == {"no_worker": "pending"}
    await watch.every(15 * SECOND, 3)
    assert await watch.phases() == {"no_worker": "firing"}


@pytest.mark.parametrize("by", [-DAY, -MINUTE, MINUTE, 10 * MINUTE, DAY])
async def test_a_clock_that_jumps_neither_fires_nor_resolves(watch: Watch, by: int) -> None:
    watch.reader.set(Metric.LIVE_WORKERS, 0)
    await watch.every(15 * SECOND, 2)
    watch.hand.at += by  # as its clock goes on after it has adopted the database's
    await watch.store.write(lambda c: JUMP(c) and None)
    watch.hand.clock.version = (watch.hand.clock.version or 0) + 1
    await watch.after(0)
    assert await watch.phases() == {"no_worker": "pending"}
    await watch.every(15 * SECOND, 6)
    assert await watch.phases() == {"no_worker": "pending"}, "the jump counts for nothing"
    await watch.every(15 * SECOND, 2)
    assert await watch.phases() == {"no_worker": "firing"}
    watch.hand.at += by
    await watch.every(15 * SECOND, 3)
    assert await watch.changes() == FIRED


async def test_who_does_not_know_yet_that_the_clock_jumped_writes_nothing(watch: Watch) -> None:
    watch.reader.set(Metric.LIVE_WORKERS, 0)
    await watch.after(0)
    await watch.store.write(lambda c: JUMP(c) and None)
    with pytest.raises(TimeShifted):
        await watch.after(15 * SECOND)
    assert await watch.evaluator.step() < 1, "and tries again at once"


async def test_each_channel_gets_what_is_grave_enough_or_what_the_rule_sends_to_it(
    watch: Watch,
) -> None:
    await watch.set_channels(everything="info", grave="critical", usual="warning")
    await watch.set_rule("limit_use", **{"for": 0})
    await watch.set_rule("wal_grows", **{"for": 0}, channels=["grave"])
    await watch.set_rule("missed_slots", severity="warning")
    watch.reader.set(Metric.LIMIT_USE, 95, "a")
    watch.reader.set(Metric.WAL_SIZE, 5_000)
    watch.reader.set(Metric.MISSED_SLOTS, 1, "nightly")
    await watch.after(0)
    assert sorted(await watch.messages()) == [
        "limit_use firing everything", "missed_slots firing everything",
        "missed_slots firing usual", "wal_grows firing grave"]  # fmt: skip


async def test_a_resolution_goes_to_those_who_learned_of_the_firing(watch: Watch) -> None:
    await watch.set_channels(a="info", b="info")
    await fire(watch)
    await watch.set_channels(b="info", c="info")
    watch.reader.set(Metric.LIVE_WORKERS, 1)
    await watch.after(15 * SECOND)
    assert await watch.messages() == [
        "no_worker firing a", "no_worker firing b", "no_worker resolved b"]  # fmt: skip


async def test_a_mute_holds_back_a_firing_until_it_ends(watch: Watch) -> None:
    await watch.set_channels(a="info")
    until = watch.hand.at + HOUR
    await watch.store.write(lambda c: mute(c, "no_worker", "", until=until, now=watch.hand.at))
    await fire(watch)
    await watch.after(30 * MINUTE)
    assert await watch.messages() == []
    await watch.after(30 * MINUTE)
    await watch.after(15 * SECOND)
    assert await watch.messages() == ["no_worker firing a"]
    assert await watch.changes() == FIRED


async def test_what_fired_and_ended_while_it_was_muted_is_not_announced(watch: Watch) -> None:
    await watch.set_channels(a="info")
    until = watch.hand.at + HOUR
    await watch.store.write(lambda c: mute(c, "no_worker", "", until=until, now=watch.hand.at))
    await fire(watch)
    watch.reader.set(Metric.LIVE_WORKERS, 1)
    await watch.after(15 * SECOND)
    await watch.after(2 * HOUR)
    assert await watch.messages() == []
    assert await watch.changes() == [*FIRED, "no_worker resolved"]


async def test_a_mute_of_one_subject_leaves_the_others(watch: Watch) -> None:
    await watch.set_channels(a="info")
    until = watch.hand.at + HOUR
    await watch.store.write(
        lambda c: mute(c, "host_given_up", "shop", until=until, now=watch.hand.at)
    )
    watch.reader.values[Metric.HOSTS_GIVEN_UP] = Values({"shop": 1, "news": 1})
    await watch.after(0)
    assert await watch.messages() == ["host_given_up firing a"]
    await watch.store.write(lambda c: unmute(c, "host_given_up", "shop"))
    await watch.after(15 * SECOND)
    assert await watch.messages() == ["host_given_up firing a"] * 2


async def test_an_evaluation_that_read_before_a_mute_writes_nothing(watch: Watch) -> None:
    await watch.set_channels(a="info")
    watch.reader.set(Metric.HOSTS_GIVEN_UP, 1, "shop")

    async def mute_it() -> None:
        until = watch.hand.at + HOUR
        await watch.store.write(
            lambda c: mute(c, "host_given_up", "", until=until, now=watch.hand.at)
        )

    watch.reader.meanwhile = mute_it
    assert not await watch.after(0)
    watch.reader.meanwhile = None
    assert await watch.after(15 * SECOND)
    assert await watch.messages() == []


async def test_a_rule_that_is_disabled_or_deleted_ends_its_alerts(watch: Watch) -> None:
    await watch.set_channels(a="info")
    await watch.set_rule("mine", metric="worker_memory", above=10)
    watch.reader.set(Metric.WORKER_MEMORY, 20, "w")
    watch.reader.set(Metric.HOSTS_GIVEN_UP, 1, "shop")
    await watch.after(0)
    await watch.store.write(lambda c: delete_rule(c, "mine"))
    await watch.set_rule("host_given_up", enabled=False)
    await watch.every(15 * SECOND, 2)
    assert sorted(await watch.changes()) == [
        "host_given_up shop firing", "host_given_up shop resolved", "mine w firing",
        "mine w resolved"]  # fmt: skip
    assert len(await watch.messages()) == 4


async def test_a_subject_that_is_gone_ends_its_alert(watch: Watch) -> None:
    watch.reader.set(Metric.HOSTS_GIVEN_UP, 1, "shop")
    await watch.after(0)
    watch.reader.values[Metric.HOSTS_GIVEN_UP] = Values({})
    await watch.after(15 * SECOND)
    assert await watch.changes() == ["host_given_up shop firing", "host_given_up shop resolved"]


async def test_a_rule_raises_a_bounded_number_of_alerts_the_worst_first(watch: Watch) -> None:
    bad = {f"s{n:04}": float(n) for n in range(1, 501)}
    watch.reader.values[Metric.HOSTS_GIVEN_UP] = Values(bad)
    await watch.every(15 * SECOND, 3)
    alerts = await watch.store.read(stored_alerts)
    assert sorted(one.subject for one in alerts) == [f"s{n:04}" for n in range(401, 501)]
    assert len(alerts) == MOST_ALERTS
    watch.reader.values[Metric.HOSTS_GIVEN_UP] = Values(bad | {"s0500": 0.0})
    await watch.every(15 * SECOND, 2)
    assert "host_given_up s0400 firing" in await watch.changes()


async def test_the_file_leaves_rules_alone_that_it_did_not_change(watch: Watch) -> None:
    section = {"no_worker": RuleFields.model_validate({"for": 600})}

    async def apply(sections: Mapping[str, RuleFields]) -> Any:
        return await watch.store.write(lambda c: apply_rules(c, sections, now=watch.hand.at))

    assert (await apply(section)).declared == ["no_worker"]
    await watch.set_rule("no_worker", **{"for": 30})
    await watch.set_rule("own", metric="wal_size", above=1)
    assert await apply(section) == type(await apply(section))([], [])
    rows = await watch._ask.query("SELECT name, declared FROM alert_rules ORDER BY name")
    assert [(row.name, row.declared) for row in rows] == [
        ("no_worker", '{"for":30.0}'), ("own", '{"metric":"wal_size","above":1.0}')]  # fmt: skip
    assert (await apply({})).removed == ["no_worker"]


async def test_a_rule_of_the_file_that_was_deleted_stays_deleted_until_its_section_changes(
    watch: Watch,
) -> None:
    """For a built-in rule: it stays as it came."""
    section = {"mine": RuleFields.model_validate({"metric": "wal_size", "above": 1}),
               "no_worker": RuleFields.model_validate({"for": 600})}  # fmt: skip

    async def apply(sections: Mapping[str, RuleFields]) -> list[str]:
        applied = await watch.store.write(lambda c: apply_rules(c, sections, now=watch.hand.at))
        await watch.store.write(lambda c: prune(c, now=watch.hand.at))
        return applied.declared

    await apply(section)
    for name in section:
        await watch.store.write(lambda c: delete_rule(c, name))  # noqa: B023
    watch.reader.set(Metric.LIVE_WORKERS, 0)
    await watch.every(30 * SECOND, 6)
    assert await apply(section) == [], "as when a process starts"
    rules = await watch.store.read(listed_rules)
    assert "mine" not in rules
    assert rules["no_worker"].rule == BUILTIN["no_worker"]
    await watch.every(30 * SECOND, 2)
    assert await watch.changes() == ["no_worker firing"], "a built-in rule goes on"
    changed = section | {"mine": RuleFields.model_validate({"metric": "wal_size", "above": 2})}
    assert await apply(changed) == ["mine"]
    assert (await watch.store.read(listed_rules))["mine"].rule.threshold == 2
    await apply({})
    assert await watch._ask.query("SELECT name FROM alert_rules WHERE name = 'no_worker'") == []
    await watch.after(30 * SECOND)
    await apply({})
    assert await watch._ask.query("SELECT name FROM alert_rules") == []


async def test_a_deleted_rule_whose_section_left_the_file_is_new_when_it_comes_back(
    watch: Watch,
) -> None:
    section = {"mine": RuleFields.model_validate({"metric": "wal_size", "above": 1}),
               "no_worker": RuleFields.model_validate({"for": 600})}  # fmt: skip

    async def apply(sections: Mapping[str, RuleFields]) -> Any:
        return await watch.store.write(lambda c: apply_rules(c, sections, now=watch.hand.at))

    await apply(section)
    for name in section:
        await watch.store.write(lambda c: delete_rule(c, name))  # noqa: B023
    assert sorted((await apply({})).removed) == ["mine", "no_worker"]
    assert (await apply({})).removed == []
    assert sorted((await apply(section)).declared) == ["mine", "no_worker"]


async def test_alerts_that_ended_are_kept_up_to_a_number(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every evaluation reads them; workers that were restarted never come back."""
    monkeypatch.setattr(stored_alerts_module, "MOST_RESOLVED", 2)
    await watch.set_rule("mine", metric="worker_memory", above=10)
    for n in range(4):
        watch.reader.values[Metric.WORKER_MEMORY] = Values({f"w{n}": 20.0})
        await watch.after(15 * SECOND)
    await watch.store.write(lambda c: prune(c, now=watch.hand.at))
    alerts = await watch.store.read(stored_alerts)
    assert sorted(f"{one.subject} {one.phase}" for one in alerts) == [
        "w1 resolved", "w2 resolved", "w3 firing"]  # fmt: skip


async def test_alerts_of_rules_that_only_another_version_knows_are_left_to_it(
    watch: Watch,
) -> None:
    await watch.set_rule("mine", metric="worker_memory", above=10)
    watch.reader.set(Metric.WORKER_MEMORY, 20, "w")
    await watch.after(0)
    unreadable = """UPDATE alert_rules SET declared = '{"metric": "not known here", "above": 1}'"""
    await watch.store.write(lambda c: text(unreadable)(c) and None)
    await watch.every(15 * SECOND, 2)
    await watch.store.write(lambda c: text("DELETE FROM alert_rules")(c) and None)
    await watch.every(15 * SECOND, 2)
    assert await watch.changes() == ["mine w firing"]


async def test_a_deleted_rule_is_forgotten_once_its_alerts_have_ended(watch: Watch) -> None:
    await watch.set_rule("mine", metric="worker_memory", above=10)
    watch.reader.set(Metric.WORKER_MEMORY, 20, "w")
    await watch.after(0)
    await watch.store.write(lambda c: delete_rule(c, "mine"))
    with pytest.raises(NotFound):
        await watch.store.write(lambda c: delete_rule(c, "mine"))
    await watch.store.write(lambda c: prune(c, now=watch.hand.at))
    await watch.after(15 * SECOND)
    await watch.store.write(lambda c: prune(c, now=watch.hand.at))
    assert await watch.changes() == ["mine w firing", "mine w resolved"]
    assert await watch._ask.query("SELECT name FROM alert_rules") == []


async def test_what_is_old_is_deleted_but_nothing_of_what_still_fires(watch: Watch) -> None:
    await watch.set_channels(a="info")
    await fire(watch)
    watch.reader.set(Metric.HOSTS_GIVEN_UP, 1, "shop")
    await watch.after(15 * SECOND)
    watch.reader.set(Metric.HOSTS_GIVEN_UP, 0, "shop")
    await watch.after(15 * SECOND)
    await watch.store.write(
        lambda c: text("UPDATE alert_deliveries SET state = 'delivered'")(c) and None
    )
    for _ in range(3):
        await watch.store.write(lambda c: prune(c, now=watch.hand.at + 100 * DAY))
    assert await watch.changes() == FIRED
    assert await watch.phases() == {"no_worker": "firing"}
    watch.reader.set(Metric.LIVE_WORKERS, 1)
    await watch.after(15 * SECOND)
    assert await watch.messages() == ["no_worker firing a", "no_worker resolved a"]
