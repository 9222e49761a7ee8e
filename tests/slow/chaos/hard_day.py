"""A day on which one worker is killed, one stands still beyond its lease, and one joins."""

import asyncio
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from urllib.parse import urlsplit

from chaos.conftest import PATIENT_LEASE
from chaos.reckoning import LEFT_LATE, STAMP_LATE
from chaos.world import World
from curtsy.demo.truth import NANOSECONDS, Entry, gap
from support.departures import Departures
from support.engine import until
from support.processes import Process
from support.sql import run, text

UNTOLD_SECONDS = 4.0
"""What a worker asked for so long before it fell silent may be unknown to the others: it tells at
least every quarter of a second, but may have stood still just then."""
FEW_SLOTS: dict[str, object] = {"worker_slots": 2, "lease_seconds": PATIENT_LEASE}
FEW_LANES = "many_lanes"
"""So few that no two workers hold all hosts; and nobody dies who was not to."""
_HELD = text("SELECT id FROM sources WHERE owner = :by")
HOSTS, OF_TWO = 20, 16
"""Of which two workers hold so many."""


@dataclass(frozen=True, slots=True)
class Day:
    killed_at: int
    paused_at: int

    def explains(self, entry: Entry) -> bool:
        """The page was asked for in vain: whoever asked could not tell any more."""
        spans = (self.killed_at - entry.at, self.paused_at - entry.at)
        return any(-0.2 < span / NANOSECONDS < UNTOLD_SECONDS for span in spans)


async def hard_day(
    made: World, urls: list[str], *, policy: str = "{}", without: str | None = None
) -> Day:
    """Three workers share the hosts. `without` is a guard that the paused one lacks.

    The first page of each host is there to say how it wants to be asked. The others come when all
    three are there: however long that takes, there is enough left for those who take over.
    """
    fleet = made.fleet
    firsts = list({urlsplit(url).netloc: url for url in urls}.values())
    await made.submit(firsts)
    await made.execute(f"UPDATE sources SET policy = '{policy}'")
    lacking_most = FEW_LANES if without is None else f"{FEW_LANES},{without}"
    doomed, sleepy, steady = (
        fleet.worker(without=lacking) for lacking in (FEW_LANES, lacking_most, FEW_LANES)
    )
    victims = [await name_of(doomed), await name_of(sleepy)]
    await name_of(steady)
    await made.submit(list(set(urls) - set(firsts)))
    for name in victims:
        await made.reaches(f"SELECT count(*) FROM sources WHERE owner = '{name}'",
                           HOSTS - OF_TWO, 30)  # fmt: skip
    await pause_between_writes(made, sleepy)
    paused_at = now()
    doomed.kill()
    killed_at, since = now(), made.clock.now()
    fleet.worker(without=FEW_LANES)
    gone = ", ".join(f"'{name}'" for name in victims)
    held = await made.store.read(lambda c: list(run(c, _HELD, {"by": victims[1]}).scalars()))
    await made.reaches("SELECT count(DISTINCT source_id) FROM attempts WHERE started_at > "
                       f"{since} AND worker NOT IN ({gone}) AND source_id IN "
                       f"({', '.join(map(str, held))})",
                       max(1, len(held) - (HOSTS - OF_TWO)), 60)  # fmt: skip
    sleepy.resume()
    return Day(killed_at, paused_at)


async def pause_between_writes(made: World, process: Process) -> None:
    """Pauses the process. A process that stands still within a write holds the lock of its file,
    and nobody could take over: then it is paused a moment later."""
    process.pause()
    while made.store.is_sqlite and await asyncio.to_thread(_is_locked, made.store.url):
        process.resume()
        await asyncio.sleep(0.02)
        process.pause()


def _is_locked(url: str) -> bool:
    """Whether the file stays locked for longer than a write of the others takes."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=2)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        connection.rollback()
        return False


async def name_of(process: Process) -> str:
    async def fact() -> bool:
        return bool(process.logged("worker_started"))

    await until(fact, 30, process.tail)
    return str(process.logged("worker_started")[0]["worker"])


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def repeated(entries: Iterable[Entry]) -> list[Entry]:
    """Requests for pages that were asked for again later."""
    pages: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.path != "/robots.txt":
            pages[entry.host, entry.path].append(entry)
    return [entry for asked in pages.values() for entry in asked[:-1]]


def too_many(
    entries: Iterable[Entry], departures: Departures, *, per_hour: int, burst: int
) -> Iterator[str]:
    """Spans that hold more starts than a burst and what is spread over the hour after it."""
    hosts: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        hosts[entry.host].append(entry)
    for host, starts in hosts.items():
        for (i, first), (j, last) in combinations(enumerate(starts), 2):
            least = (j - i + 1 - burst) * 3600 / per_hour
            if least > 0 and _is_less(first, last, least, departures):
                yield f"{host}: {j - i + 1} starts within {gap(first, last):.3f} s, {least} needed"


def _is_less(first: Entry, last: Entry, least: float, departures: Departures) -> bool:
    """The site's stamps raise the suspicion, the kernel's decide."""
    if gap(first, last) >= least - STAMP_LATE:
        return False
    left = departures.gap(first, last)
    return left is None or left < least - LEFT_LATE


def most_of_a_host(entries: Sequence[Entry]) -> int:
    hosts: dict[str, int] = defaultdict(int)
    for entry in entries:
        hosts[entry.host] += 1
    return max(hosts.values())
