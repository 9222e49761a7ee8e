"""A month with planted incidents of every kind: each fires once and is resolved once, and nothing
else does, with two schedulers that evaluate alternately and at once, and that are killed between
any two statements."""

import asyncio
import os
import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

from curtsy.alerts.channel import ChannelFields
from curtsy.alerts.evaluator import Evaluator
from curtsy.alerts.readings import reader as reader_module
from curtsy.alerts.readings.reader import MetricReader
from curtsy.alerts.stored_channels import apply_channels
from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Store
from curtsy.store.result import Result
from support.engine import Engine
from support.incidents import (
    FINE_STEP,
    INCIDENTS,
    LEASED,
    LONGEST_WAIT,
    MISSED_FOR,
    Incident,
    World,
)
from support.schedules import Hand

T = TypeVar("T")
SEEDS = range(1, 1 + int(os.environ.get("MONTHS", "1")))
"""`MONTHS=20 pytest …` simulates twenty different months."""
KILLED = 0.15
"""Part of the evaluations that are killed."""


class Killed(Exception):
    """The process died here."""


class _Dying:
    """A connection that dies after so many statements."""

    def __init__(self, connection: Connection, statements: int) -> None:
        self._connection, self._left = connection, statements
        self.engine = connection.engine

    def execute(self, sql: str, arguments: Sequence[Any] = (), /) -> Result:
        if self._left == 0:
            raise Killed
        self._left -= 1
        return self._connection.execute(sql, arguments)


class MortalStore:
    """A store whose process dies now and then: before the commit, at any statement, or after."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        self._store, self._rng = store, rng
        self.is_sqlite = store.is_sqlite

    async def read(self, work: Callable[[Connection], T], **options: Any) -> T:
        return await self._store.read(work, **options)

    async def write(self, work: Callable[[Connection], T], **options: Any) -> T:
        dies_after = self._rng.randrange(8) if self._rng.random() < KILLED else None

        def dying(connection: Connection) -> T:
            given = connection if dies_after is None else _Dying(connection, dies_after)
            return work(given)  # type: ignore[arg-type]

        result = await self._store.write(dying, **options)
        if dies_after is not None:
            raise Killed  # the commit was sent, and nobody heard of it
        return result


def new_process(store: Store, hand: Hand, rng: random.Random) -> Evaluator:
    mortal: Any = MortalStore(store, rng)
    reader = MetricReader(store=store, clock=hand.clock, policy=Policy())
    return Evaluator(store=mortal, clock=hand.clock, reader=reader)


class Month:
    def __init__(self, store: Store, hand: Hand, world: World, rng: random.Random) -> None:
        self.store, self.hand, self.world, self.rng = store, hand, world, rng
        self.processes = [new_process(store, hand, rng) for _ in range(2)]
        self.kills = 0

    async def pass_time(self, span: int, step: int) -> None:
        for _ in range(span // step):
            self.hand.forward(step)
            await self.evaluate()

    async def evaluate(self) -> None:
        """One of the processes, or both at once; whoever dies is started again."""
        first = self.rng.randrange(2)
        chosen = [0, 1] if self.rng.random() < 0.3 else [first]
        runs = [self._run(n) for n in chosen]
        if not any(await asyncio.gather(*runs)):
            await self._run(1 - first)

    async def _run(self, n: int) -> bool:
        try:
            await self.processes[n].evaluate()
        except Killed:
            self.kills += 1
            self.processes[n] = new_process(self.store, self.hand, self.rng)
            return False
        return True

    async def live_through(self, incident: Incident) -> None:
        world, hand = self.world, self.hand
        await self.store.write(lambda c: incident.begin(world, c, hand.at) and None)
        await self.pass_time(LONGEST_WAIT, FINE_STEP)
        await self.pass_time(self.rng.randrange(3) * MINUTE, FINE_STEP)
        if incident.rule == "success_rate":  # no page is fetched until it is mended
            await self.pass_time(HOUR, 10 * MINUTE)
        if incident.rule == "worker_memory":
            await self._lapse()
        await self.store.write(lambda c: incident.end(world, c, hand.at) and None)
        if incident.rule == "missed_slots":
            await self.pass_time(MISSED_FOR, 10 * MINUTE)
        await self.pass_time(2 * MINUTE, FINE_STEP)
        if incident.rule == "success_rate":  # nor for long after that
            await self.pass_time(4 * HOUR, 10 * MINUTE)

    async def _lapse(self) -> None:
        """The store was away: the worker's lease ends, before its next heartbeat."""
        world, hand = self.world, self.hand
        await self.store.write(lambda c: world.set_lease(c, hand.at))
        await self.pass_time(FINE_STEP, FINE_STEP)
        await self.store.write(lambda c: world.set_lease(c, hand.at + LEASED))
        await self.pass_time(5 * MINUTE, FINE_STEP)


@pytest.mark.parametrize("seed", SEEDS)
async def test_each_planted_incident_of_a_month_fires_once_and_is_resolved_once(
    store: Store, hand: Hand, ask: Engine, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng, world = random.Random(seed), World()
    monkeypatch.setattr(reader_module, "read_space", world.disk.read)
    channel = ChannelFields.model_validate(
        {"kind": "json", "url": "https://hooks.example.com/a", "severity": "info"}
    )
    await store.write(lambda c: apply_channels(c, {"a": channel, "b": channel}, now=hand.at))
    await store.write(lambda c: world.build(c, hand.at))
    month = Month(store, hand, world, rng)
    began, planted = hand.at, list(INCIDENTS)
    rng.shuffle(planted)
    for incident in planted:
        await month.pass_time(2 * DAY, 6 * HOUR)
        await month.live_through(incident)
    await month.pass_time(began + 30 * DAY - hand.at, 6 * HOUR)

    changes = await ask.query("SELECT rule, subject, phase FROM alert_changes ORDER BY seq")
    found = [(row.rule, row.subject, row.phase) for row in changes]
    assert found == [(one.rule, one.subject, phase) for one in planted
                     for phase in ("firing", "resolved")]  # fmt: skip
    sent = await ask.query(
        "SELECT change_seq, channel FROM alert_deliveries ORDER BY change_seq, channel"
    )
    seqs = await ask.query("SELECT seq FROM alert_changes ORDER BY seq")
    assert [tuple(one) for one in sent] == [(row.seq, name) for row in seqs for name in "ab"]
    assert month.kills >= 20
