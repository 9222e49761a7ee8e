"""Plants what alert rules watch for, as rows of the real tables, and mends it again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from curtsy.clock import DAY, HOUR, MINUTE, SECOND
from curtsy.history.rows import Key, Span, add
from curtsy.history.tally import Tally
from curtsy.store import Connection, Statement
from curtsy.store.space import Space
from support.sql import text

GIGABYTE = 10**9
LEASED = 10_000 * DAY
_STATEMENTS: dict[str, Statement] = {}


def run(connection: Connection, sql: str, **values: Any) -> Any:
    statement = _STATEMENTS.get(sql) or _STATEMENTS.setdefault(sql, text(sql))
    return statement(connection, **values)


@dataclass
class Disk:
    """In place of the disk's own numbers."""

    space: Space = field(default_factory=lambda: Space(GIGABYTE, GIGABYTE // 10, 500 * GIGABYTE))

    async def read(self, _store: object) -> Space:
        return self.space


@dataclass
class World:
    """A healthy system: one worker, three sources, two sites with schedules."""

    disk: Disk = field(default_factory=Disk)
    slots: int = 0
    jobs: int = 0

    def build(self, connection: Connection, now: int) -> None:
        self.start_worker(connection, now)
        for name, policy in (("busy", {"requests_per_hour": 60}), ("lost", {}), ("deep", {})):
            run(connection, "INSERT INTO sources (name, policy, described, created_at) "
                "VALUES (:name, :policy, :described, :now)", name=name, now=now, described=True,
                policy=orjson.dumps(policy).decode())  # fmt: skip
        for site in ("quiet", "thin"):
            run(connection, "INSERT INTO sites (name, declared, enabled, created_at, updated_at) "
                "VALUES (:name, '{}', :yes, :now, :now)", name=site, now=now, yes=True)  # fmt: skip
            run(connection, "INSERT INTO schedules (public_id, name, rule, payload, window_ms, "
                "site_id, of_site, created_at, updated_at) SELECT name, name, '{}', '{}', 1000, id,"
                " :yes, :now, :now FROM sites WHERE name = :name",
                name=site, now=now, yes=True)  # fmt: skip
            for _ in range(5):
                self.slot(connection, site, now - DAY, state="succeeded", records=20)
        run(connection, "INSERT INTO schedules (public_id, name, rule, payload, window_ms, "
            "created_at, updated_at) VALUES ('nightly', 'nightly', '{}', '{}', 1000, :now, :now)",
            now=now)  # fmt: skip

    def start_worker(self, connection: Connection, now: int) -> None:
        run(connection, "INSERT INTO workers (id, beat, lease_until, slots, machine, pid, program, "
            "started_at, memory_bytes) VALUES ('w_1', 1, :until, 10, 'here', 1, 'curtsy', :now, "
            ":memory)", until=now + LEASED, now=now, memory=200_000_000)  # fmt: skip

    def set_lease(self, connection: Connection, until: int) -> None:
        run(connection, "UPDATE workers SET lease_until = :until", until=until)

    def set_memory(self, connection: Connection, size: int) -> None:
        run(connection, "UPDATE workers SET memory_bytes = :size", size=size)

    def count(self, connection: Connection, now: int, *, good: int, bad: int) -> None:
        tally = Tally()
        tally.succeeded, tally.failed = good, bad
        add(connection, {Key(Span.MINUTE, 0, now - now % MINUTE, 2): tally})

    def count_source(
        self, connection: Connection, name: str, now: int, *, good: int, bad: int
    ) -> None:
        tally = Tally()
        tally.succeeded, tally.failed = good, bad
        tally.attempts[0], tally.attempts[-1] = good, bad
        row = run(connection, "SELECT id FROM sources WHERE name = :name", name=name).one()
        add(connection, {Key(Span.HOUR, row.id, now - now % HOUR, 0): tally})

    def set_pace(self, connection: Connection, name: str, now: int, pace: dict[str, Any]) -> None:
        run(connection, "UPDATE sources SET pace = :pace, paced_at = :now WHERE name = :name",
            name=name, now=now, pace=orjson.dumps(pace).decode())  # fmt: skip

    def fill_queue(self, connection: Connection, now: int) -> None:
        run(connection, "UPDATE sources SET ready_at = :at, delay_ms = 1000 WHERE name = 'deep'",
            at=now - 10 * MINUTE)  # fmt: skip
        for page in range(150):
            run(connection, "INSERT INTO visits (page_id, source_id, priority, rank, turn, "
                "created_at) SELECT :page, id, 5, :page, 1, :now FROM sources WHERE name = 'deep'",
                page=10_000 + page, now=now)  # fmt: skip

    def empty_queue(self, connection: Connection) -> None:
        run(connection, "DELETE FROM visits")
        run(connection, "UPDATE sources SET ready_at = NULL WHERE name = 'deep'")

    def slot(
        self, connection: Connection, schedule: str, now: int, *, outcome: str = "fired",
        state: str | None = None, records: int = 0,
    ) -> None:  # fmt: skip
        """A slot of a schedule, and its run if it has a state."""
        self.slots += 1
        job_id = None
        if state is not None:
            self.jobs += 1
            job_id = run(connection, "INSERT INTO jobs (public_id, door, scraper, state, total, "
                "created_at, updated_at, gathered_at, finished_at) VALUES (:id, 'runs', 'listing', "
                ":state, 1, :now, :now, :now, :now) RETURNING id", id=f"run_{self.jobs}",
                state=state, now=now).scalar_one()  # fmt: skip
            for n in range(records):
                run(connection, "INSERT INTO sightings (job_id, key, position, change, data) "
                    "VALUES (:job_id, :key, :n, 'same', '{}')", job_id=job_id, key=f"k{n}",
                    n=n)  # fmt: skip
        run(connection, "INSERT INTO firings (schedule_id, fire_at, fired_at, trigger, outcome, "
            "job_id) SELECT id, :at, :now, 'schedule', :outcome, :job_id FROM schedules "
            "WHERE name = :name", at=now + self.slots, now=now, outcome=outcome, job_id=job_id,
            name=schedule)  # fmt: skip


@dataclass(frozen=True)
class Incident:
    """What goes wrong, and how it is mended. Each leads to one alert."""

    rule: str
    subject: str
    begin: Callable[[World, Connection, int], object]
    end: Callable[[World, Connection, int], object]


def _silent(world: World, connection: Connection, now: int) -> None:
    for _ in range(3):
        world.slot(connection, "quiet", now, state="failed")


def _free(bytes_: int) -> Callable[[World, Connection, int], object]:
    def change(world: World, _connection: Connection, _now: int) -> None:
        world.disk.space = Space(GIGABYTE, GIGABYTE // 10, bytes_)

    return change


def _log(bytes_: int) -> Callable[[World, Connection, int], object]:
    def change(world: World, _connection: Connection, _now: int) -> None:
        world.disk.space = Space(GIGABYTE, bytes_, 500 * GIGABYTE)

    return change


INCIDENTS = (
    Incident("success_rate", "",
             lambda w, c, now: w.count(c, now, good=10, bad=90),
             lambda w, c, now: w.count(c, now, good=30, bad=0)),
    Incident("ready_pages", "",
             lambda w, c, now: w.fill_queue(c, now), lambda w, c, _now: w.empty_queue(c)),
    Incident("worker_memory", "w_1 on here",
             lambda w, c, _now: w.set_memory(c, 600_000_000),
             lambda w, c, _now: w.set_memory(c, 300_000_000)),
    Incident("limit_use", "busy",
             lambda w, c, now: w.set_pace(c, "busy", now, {"hour": [[0, 58]]}),
             lambda w, c, now: w.set_pace(c, "busy", now, {"hour": [[0, 3]]})),
    Incident("missed_slots", "nightly",
             lambda w, c, now: w.slot(c, "nightly", now, outcome="missed"),
             lambda _w, _c, _now: None),  # it ends an hour later by itself
    Incident("silent_site", "quiet", _silent,
             lambda w, c, now: w.slot(c, "quiet", now, state="succeeded", records=20)),
    Incident("records_fell", "thin",
             lambda w, c, now: w.slot(c, "thin", now, state="succeeded", records=9),
             lambda w, c, now: w.slot(c, "thin", now, state="succeeded", records=20)),
    Incident("no_worker", "",
             lambda _w, c, _now: run(c, "DELETE FROM workers"),
             lambda w, c, now: w.start_worker(c, now)),
    Incident("disk_low", "", _free(GIGABYTE), _free(500 * GIGABYTE)),
    Incident("wal_grows", "", _log(3 * GIGABYTE), _log(GIGABYTE // 10)),
    Incident("host_given_up", "lost",
             lambda w, c, now: w.set_pace(c, "lost", now, {"gone": {"lost.example": [0, "dns"]}}),
             lambda w, c, now: w.set_pace(c, "lost", now, {"hour": []})),
)  # fmt: skip
"""Without `disk_fills`, whose forecast is a test of its own."""

LONGEST_WAIT = 11 * MINUTE
"""Every rule fires or is resolved within this time, but for slots that were missed."""
FINE_STEP = 30 * SECOND
MISSED_FOR = HOUR + 2 * MINUTE
