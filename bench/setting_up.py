"""Shared by curtsy's contestants: an open store with its tables, and submitted jobs."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any

from curtsy import logs
from curtsy.clock import Clock
from curtsy.fetch import parse_networks
from curtsy.frontier.clock_sync import synchronise
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.processes.startup import collect_garbage_less_often
from curtsy.store import Connection, Statement, Store
from curtsy.store.upgrade import upgrade

URLS_PER_JOB = 100_000

LOOPBACK = parse_networks("127.0.0.0/8")


@asynccontextmanager
async def opened(database: str) -> AsyncIterator[tuple[Store, Clock]]:
    logs.configure("WARNING", "text")
    collect_garbage_less_often()  # as every process of ours does at its start
    async with Store(database) as store:
        await upgrade(store)
        clock = Clock()
        await synchronise(store, clock)
        yield store, clock


def execute(sql: Statement, values: Mapping[str, Any], connection: Connection) -> None:
    sql(connection, **values)


def submitter(store: Store, clock: Clock) -> Submitter:
    limits = SubmitLimits(new_sources=100_000, allow=LOOPBACK)
    return Submitter(store=store, clock=clock, limits=limits, delay_ms=0)


async def submit(
    store: Store, clock: Clock, urls: Iterable[str], scraper: str = "raw"
) -> list[str]:
    """Submits through the usual Submitter, in jobs of the largest size; returns the jobs."""
    door = submitter(store, clock)
    remaining, jobs = iter(urls), []
    while pages := [PageRequest(url) for url in islice(remaining, URLS_PER_JOB)]:
        jobs.append((await door.submit(JobRequest("bench", pages, scraper))).job)
    return jobs


def invented_urls(visits: int, sources: int) -> Iterator[str]:
    """URLs of hosts that do not exist, for benchmarks without HTTP."""
    for number in range(visits):
        yield f"http://host-{number % sources}.example/page/{number // sources}"
