"""Pages fetched and stored by `curtsy worker` with one process and with two, on one database."""

import asyncio
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench import children
from bench.contestants.curtsy_pages import finished
from bench.databases import ENGINES, Databases, Fleet
from bench.lines import Line
from bench.pages import CONCURRENT, PER_HOST
from bench.rounds import interleaved, medians, ratio
from bench.setting_up import LOOPBACK, opened
from bench.sizes import Sizes
from bench.spent import processor_time
from curtsy.demo.process import PracticeProcess
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.store.wakeups import Wakeups

PROCESSES = (1, 2)
LEAST_RATE = 1.0
MOST_PROCESSOR_TIME = 1.1
START_SECONDS = 60
WARM_UP = 500


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    lines: list[Line] = []
    with PracticeProcess(hosts=sizes.page_hosts) as site:
        for engine in ENGINES:
            urls = [
                site.url(i % sizes.page_hosts, f"/page/{i // sizes.page_hosts}")
                for i in range(sizes.process_pages + WARM_UP)
            ]
            cpu: dict[str, list[float]] = {str(number): [] for number in PROCESSES}
            contestants: dict[str, Callable[[], float]] = {
                str(n): partial(_rate, databases, engine, n, urls, cpu[str(n)]) for n in PROCESSES
            }
            measured = interleaved(contestants, sizes.process_rounds)
            rates, spent = medians(measured), medians(cpu)
            lines += [
                Line("processes", f"{engine}, two / one", f"{rates['2']:,.0f} pages/s",
                     f"{rates['1']:,.0f} pages/s", ratio(measured, "2", "1"), LEAST_RATE),
                Line("processes", f"{engine}, two / one, processor time",
                     f"{spent['2']:.3f} ms/page", f"{spent['1']:.3f} ms/page",
                     ratio(cpu, "2", "1"), MOST_PROCESSOR_TIME, at_least=False),
            ]  # fmt: skip
    return lines


def _rate(
    databases: Databases, engine: str, processes: int, urls: list[str], cpu: list[float]
) -> float:
    settings: dict[str, Any] = {
        "min_delay_seconds": 0, "lease_seconds": 15, "source_concurrency": PER_HOST,
        "robots": "ignore", "db_pool_size": 10, "log_level": "INFO",
        "worker_processes": processes, "worker_slots": CONCURRENT,
    }  # fmt: skip
    with databases.fresh(engine) as url, tempfile.TemporaryDirectory() as folder:
        children.run("curtsy_load", database=url, visits=0, sources=1)  # creates the tables
        with Fleet(Path(folder), url, **settings) as fleet:
            seconds, spent = asyncio.run(_work_off(url, fleet, processes, urls))
    pages = len(urls) - WARM_UP
    cpu.append(1000 * spent / pages)
    return pages / seconds


async def _work_off(url: str, fleet: Fleet, processes: int, urls: list[str]) -> tuple[float, float]:
    """Seconds from the submit to the end of the job, and processor time of the command and all its
    children; the warm-up is not counted."""
    async with (
        opened(url) as (store, clock),
        Wakeups(url, lambda: None) as wakeups,  # as an API has them
    ):
        limits = SubmitLimits(new_sources=100_000, allow=LOOPBACK)
        door = Submitter(store=store, clock=clock, limits=limits, delay_ms=0,
                         on_submitted=wakeups.send)  # fmt: skip
        command = fleet.worker()
        async with asyncio.timeout(START_SECONDS):
            while len(fleet.logged("worker_started")) < processes:  # noqa: ASYNC110 - from a log
                await asyncio.sleep(0.05)

        async def work_off(some: list[str]) -> None:
            request = JobRequest("bench", [PageRequest(page) for page in some])
            done = await finished(store, (await door.submit(request)).job)
            if done != len(some):
                raise children.ContestantFailed(f"{done} of {len(some)} pages were stored")

        await work_off(urls[:WARM_UP])
        before, began = processor_time(command.pid), time.perf_counter()
        await work_off(urls[WARM_UP:])
        seconds = time.perf_counter() - began
        spent = processor_time(command.pid) - before
        await fleet.stop()
        return seconds, spent
