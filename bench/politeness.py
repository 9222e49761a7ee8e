"""Many slow hosts at once: how near to the least time, and at what cost in manners and order.

Every host gets one request in half a second, robots.txt included; of its pages a tenth are to
go first. Workers are real `curtsy worker` processes; the practice site's log tells what came of it.
"""

import asyncio
import os
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from bench import children
from bench.contestants.curtsy_pages import finished
from bench.databases import ENGINES, Databases, Departures, Fleet, port_of
from bench.lines import Line
from bench.manners import Manners, manners
from bench.predictions import Errors, run_and_compare
from bench.setting_up import LOOPBACK, opened
from bench.sizes import Sizes
from curtsy.demo.process import PracticeProcess
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.politeness.policy import Policy
from curtsy.store.wakeups import Wakeups

DELAY = 0.5
HIGH, LOW = 2, 8
WORKERS = (1, 3)
SCRAPY_AT_ONCE = (16, 20, 100)
"""Its default; one for each host; and plenty."""
MAKESPAN = 1.02
OFF_BY = 5.0
START_SECONDS = 60

Work = list[tuple[str, str, bool]]
"""URL, path, and whether the page has high priority."""


class Course:
    """The site, with pages for each round that no earlier round has fetched."""

    def __init__(self, site: PracticeProcess, departures: Departures, sizes: Sizes) -> None:
        self._site, self._departures, self._sizes = site, departures, sizes
        self._rounds = 0

    def judged(self, run: Callable[[Work], int]) -> Manners:
        work = self._work()
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        done = run(work)
        if done != len(work):
            raise children.ContestantFailed(f"{done} of {len(work)} pages were stored")
        time.sleep(0.2)  # the site writes its log a moment later
        seen = [entry for entry in self._site.entries() if entry.at >= began]
        high = {path for _url, path, goes_first in work if goes_first}
        return manners(seen, self._departures, delay=DELAY, high=high)

    def _work(self) -> Work:
        self._rounds += 1
        pages, rng = self._sizes.polite_pages, random.Random(self._rounds)
        work: Work = []
        for host in range(self._sizes.polite_hosts):
            first = set(rng.sample(range(pages), max(1, pages // 10)))
            for number in range(pages):
                path = f"/page/{(self._rounds * 100 + host) * 1000 + number}"
                work.append((self._site.url(host, path), path, number in first))
        rng.shuffle(work)
        return work


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    least = sizes.polite_pages * DELAY
    with _course(sizes) as course:
        seen: dict[str, Manners] = {}
        errors: dict[str, Errors] = defaultdict(dict)
        for at_once in SCRAPY_AT_ONCE:
            seen[f"scrapy, {at_once} at once"] = course.judged(partial(_scrapy, databases, at_once))
        for engine in ENGINES:
            for workers in WORKERS:
                name = f"{engine}, {workers} worker{'s' * (workers > 1)}"
                working = partial(_curtsy, databases, engine, workers, errors[name])
                seen[name] = course.judged(working)
    for name, found in seen.items():
        print(f"  {name}: {found.makespan / least:.3f} of the least time; {found}", flush=True)
    beside = {name: found for name, found in seen.items() if name.startswith("scrapy")}
    ours = {name: found for name, found in seen.items() if name not in beside}
    lines = [line for name, found in ours.items() for line in _lines(name, found, beside, least)]
    return lines + [
        line for name, of_run in errors.items() for line in _run_and_compare(name, of_run)
    ]


def _run_and_compare(name: str, errors: Errors) -> Iterator[Line]:
    for what, off in errors.items():
        yield Line("politeness", f"{name}: {what} off by", f"{off:.1f} %", "", off, OFF_BY,
                   at_least=False, unit="%")  # fmt: skip


def _lines(name: str, ours: Manners, scrapy: dict[str, Manners], least: float) -> Iterator[Line]:
    def beside(one: Callable[[Manners], str]) -> str:
        return " / ".join(one(found) for found in scrapy.values())

    yield Line("politeness", f"{name}: makespan over the least", f"{ours.makespan:.2f} s",
               beside(lambda m: f"{m.makespan:.2f}") + " s", ours.makespan / least, MAKESPAN,
               at_least=False)  # fmt: skip
    yield Line("politeness", f"{name}: starts too close", f"{ours.too_close} of {ours.gaps}",
               beside(lambda m: f"{100 * m.too_close / m.gaps:.1f}") + " %", ours.too_close, 0,
               at_least=False, unit="starts")  # fmt: skip
    yield Line("politeness", f"{name}: high before low", f"{ours.order:.1f} %",
               beside(lambda m: f"{m.order:.0f}") + " %", ours.order, 100, unit="%")  # fmt: skip


@contextmanager
def _course(sizes: Sizes) -> Iterator[Course]:
    memory = Path("/dev/shm")  # a site that waits for a disk stamps late
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        log = Path(folder) / "access.jsonl"
        with PracticeProcess(hosts=sizes.polite_hosts, log_path=log) as site:
            assert site.pid is not None
            with suppress(OSError):  # its stamps must not wait for a processor, where that is ours
                os.setpriority(os.PRIO_PROCESS, site.pid, -15)
            with Departures(port_of(site)) as departures:
                yield Course(site, departures, sizes)


def _scrapy(databases: Databases, at_once: int, work: Work) -> int:
    path = databases.file("jsonl")
    ranked = [(url, 10 if goes_first else 0) for url, _path, goes_first in work]
    try:
        measured: dict[str, Any] = children.run("scrapy_polite", ranked=ranked, path=str(path),
                                            concurrency=at_once, delay=DELAY)  # fmt: skip
    finally:
        path.unlink(missing_ok=True)
    return int(measured["pages"])


def _curtsy(databases: Databases, engine: str, workers: int, errors: Errors, work: Work) -> int:
    with databases.fresh(engine) as url, tempfile.TemporaryDirectory() as folder:
        settings = {"min_delay_seconds": DELAY, "lease_seconds": 15, "worker_slots": 100}
        with Fleet(Path(folder), url, **settings) as fleet:
            return asyncio.run(_worked_off(url, fleet, workers, errors, work))


async def _worked_off(url: str, fleet: Fleet, workers: int, errors: Errors, work: Work) -> int:
    async with (
        opened(url) as (store, clock),
        Wakeups(url, lambda: None) as wakeups,  # as an API has them
    ):
        for _ in range(workers):
            fleet.worker()
        async with asyncio.timeout(START_SECONDS):
            while len(fleet.logged("worker_started")) < workers:  # noqa: ASYNC110 - read from a log
                await asyncio.sleep(0.05)
        limits = SubmitLimits(new_sources=100_000, allow=LOOPBACK)
        door = Submitter(store=store, clock=clock, limits=limits, delay_ms=round(1000 * DELAY),
                         on_submitted=wakeups.send)  # fmt: skip
        pages = [PageRequest(at, HIGH if goes_first else LOW) for at, _path, goes_first in work]
        done = await run_and_compare(store, clock, door, JobRequest("bench", pages),
                              Policy(min_delay=round(1000 * DELAY)), partial(finished, store),
                              errors)  # fmt: skip
        await fleet.stop()
        return done
