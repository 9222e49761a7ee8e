"""Clocks that jump under schedulers at work: two hours ahead, then an hour back."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

from chaos.jumping_clock import JumpingClock
from chaos.slots import CLOCKS_APART, url_of
from chaos.test_clocks import HOUR, clock, jumping_server, jumps_in
from curtsy.clock import SECOND
from curtsy.schedules.schedule import ScheduleSpec, create
from curtsy.schedules.verdict import Overlap
from curtsy.store import Store
from curtsy.timetable import Every, Once, Rule
from support.engine import until
from support.processes import Fleet
from support.sql import run, text

__all__ = ["clock", "jumping_server"]

EVERY, ONCE, SOON = 30, 60, 5
MINUTES = 10
_EARLY = "'slot ' || NEW.fire_at || ' at ' || "
_POSTGRESQL = (
    f"""
    CREATE FUNCTION see_firing() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE at bigint := extract(epoch FROM clock_timestamp()) * 1000;
    BEGIN
        IF at < NEW.fire_at - {CLOCKS_APART} THEN INSERT INTO early VALUES ({_EARLY} at); END IF;
        RETURN NULL; END $$
    """,
    "CREATE TRIGGER see_firing AFTER INSERT ON firings FOR EACH ROW EXECUTE FUNCTION see_firing()",
)
_SQLITE = (
    f"""
    CREATE TRIGGER see_firing AFTER INSERT ON firings
    WHEN (julianday('now') - 2440587.5) * 86400000 < NEW.fire_at - {CLOCKS_APART}
    BEGIN INSERT INTO early VALUES ({_EARLY} datetime('now')); END
    """,
)


class Jumps:
    """Two schedulers that go by a clock, and somebody who notes what fires too early by it."""

    def __init__(self, store: Store, fleet: Fleet, clock: JumpingClock) -> None:
        self._store, self.fleet, self._clock, self._ahead = store, fleet, clock, 0
        self._starts = 0

    def starts_between_slots(self) -> None:
        """Half-way between two slots, which go by the clock: none falls due while we look, neither
        now nor hours before or after."""
        between = MINUTES * 60
        self._starts = (between // 2 - int(time.time())) % between
        self._clock.jumps_to(self._starts)
        self._ahead = self._starts * SECOND

    def now(self) -> int:
        return time.time_ns() // 1_000_000 + self._ahead

    async def jump_to(self, seconds: int) -> None:
        """So far from where it started. Returns when somebody has noticed."""
        before = len(jumps_in(self.fleet))
        self._clock.jumps_to(self._starts + seconds)
        self._ahead = (self._starts + seconds) * SECOND

        async def noticed() -> bool:
            return len(jumps_in(self.fleet)) > before

        await until(noticed, 20, self.tails)

    async def begin(self) -> None:
        self.starts_between_slots()
        for sql in ("CREATE TABLE early (what text)",
                    *(_SQLITE if self._store.is_sqlite else _POSTGRESQL)):  # fmt: skip
            await self._store.write(lambda c, sql=sql: run(c, text(sql)) and None)
        for _ in range(2):
            self.fleet.scheduler()

        async def started() -> bool:
            return len(self.fleet.logged("scheduler_started")) == 2

        await until(started, 30, self.tails)

    async def plan(self, rules: list[Rule], name: str) -> None:
        """Runs may go on beside each other: none is skipped that was to be missed."""
        now = self.now()

        def work(connection: Any) -> None:
            for n, rule in enumerate(rules):
                said = {"fetch": {"url": url_of(f"{name}-{n}")}}
                plan = ScheduleSpec(
                    name=f"{name}-{n}", rule=rule, payload=said, overlap=Overlap.ALLOW
                )
                create(connection, plan, now=now)

        await self._store.write(work)

    async def fired(self, name: str, outcome: str = "fired") -> Counter[str]:
        """How often each of these did."""
        which = text(
            "SELECT s.name FROM firings f JOIN schedules s ON s.id = f.schedule_id "
            "WHERE f.outcome = :outcome AND s.name LIKE :name"
        )
        values = {"outcome": outcome, "name": f"{name}%"}
        rows = await self._store.read(lambda c: run(c, which, values).scalars())
        return Counter(rows)

    async def reaches(self, name: str, number: int) -> None:
        async def fact() -> bool:
            return len(await self.fired(name)) >= number

        await until(fact, 20, self.tails)

    async def none_is_resolved_ahead(self) -> bool:
        """What the clock has not reached yet is open, unless it fired."""
        resolved = text("SELECT count(*) FROM firings WHERE outcome <> 'fired' AND fire_at > :now")
        beyond = text("SELECT count(*) FROM schedules WHERE name LIKE 'every%' AND look_at > :far")
        values = {"now": self.now(), "far": self.now() + 3 * MINUTES * 60 * SECOND}
        return not await self._store.read(
            lambda c: sum(run(c, sql, values).scalar_one() for sql in (resolved, beyond))
        )

    async def early(self) -> list[str]:
        found = text("SELECT what FROM early")
        return await self._store.read(lambda c: list(run(c, found).scalars()))

    async def jobs(self) -> int:
        number = text("SELECT count(*) FROM jobs")
        return int(await self._store.read(lambda c: run(c, number).scalar_one()))

    def tails(self) -> str:
        return "\n".join(f"--- {p._log.name}\n{p.tail(12)}" for p in self.fleet.processes)


async def jumps(made: Jumps) -> None:
    await made.begin()
    await made.plan([Every(MINUTES, jitter=n % 2 == 0) for n in range(EVERY)], "every")
    await made.jump_to(2 * HOUR)
    await made.reaches("every", EVERY)
    fired = await made.fired("every")
    assert fired == dict.fromkeys(fired, 1), "no burst: of all that were passed over, the latest"
    assert min((await made.fired("every", "missed")).values()) >= 9, "and the others are told"
    now = made.now()
    soon = [Once(now + SECOND + n * SECOND // 4) for n in range(SOON)]
    later = [Once(now + (10 + n) * SECOND) for n in range(ONCE - SOON)]
    await made.plan([*soon, *later], "once")
    await made.reaches("once", SOON)
    await made.jump_to(HOUR)
    await made.plan([Once(made.now() + SECOND)], "last")
    await made.reaches("last", 1)
    once, again = await made.fired("once"), await made.fired("every")
    print(f"{len(once)} of {ONCE} had fired; early: {await made.early()}")
    assert set((once + again).values()) == {1}, "no double run"
    assert again.keys() == fired.keys()
    await until(made.none_is_resolved_ahead, 20, made.tails)
    assert len(once) < ONCE, "what is an hour away waits"
    assert await made.early() == []
    assert await made.jobs() == len(once) + len(again) + 1
    assert sum(line["shifted"] for line in jumps_in(made.fleet)) == 2
    assert made.fleet.crashes() == []


async def test_when_the_databases_clock_jumps_nothing_runs_early_twice_or_in_a_burst(
    jumping_server: str,
    clock: JumpingClock,
    folder: Path,
) -> None:
    with Fleet(folder, jumping_server) as fleet:
        async with Store(jumping_server) as store:
            await jumps(Jumps(store, fleet, clock))


async def test_when_the_machines_clock_jumps_under_sqlite_neither(
    sqlite_url: str,
    clock: JumpingClock,
    folder: Path,
) -> None:
    with Fleet(folder, sqlite_url, environment=clock.environment) as fleet:
        async with Store(sqlite_url) as store:
            await jumps(Jumps(store, fleet, clock))
