"""Runs one page through one scraper, without a job: for authors of scrapers.

The page is fetched as a worker fetches it, robots.txt first, at the default pace and through the
address guard; or it comes from a file. The scraper runs in the pool.
"""

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from curtsy.clock import Clock
from curtsy.config import Settings, whole_policy, worker_settings
from curtsy.errors import BadRequest
from curtsy.extract import Pool
from curtsy.fetch import Fetcher
from curtsy.frontier.take import Visit
from curtsy.model.outcome import Failed, Moved, Record, Reply
from curtsy.model.urls import canonical
from curtsy.politeness.policy import Policy
from curtsy.processes.startup import own_scrapers
from curtsy.scrapers import NAMES, check_params
from curtsy.worker import WorkerSettings
from curtsy.worker.pipeline import Pipeline, denial
from curtsy.worker.robots_cache import RobotsCache


@dataclass(frozen=True, slots=True)
class Trial:
    scraper: str | None
    """None: the only custom scraper."""
    url: str
    saved: Reply | None = None
    """A saved page; nothing is fetched then."""
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tried:
    scraper: str
    outcome: Record | Failed
    reply: Reply | None
    """None: no page was fetched."""
    seconds: float = 0.0
    """Running time of the scraper."""


async def try_page(settings: Settings, trial: Trial) -> Tried:
    own = own_scrapers(settings)
    worker = worker_settings(settings, own)
    scraper = trial.scraper or _only_one(own.names)
    async with Pool(replace(worker.extract, processes=1), own=own) as pool:
        if not pool.knows(scraper):
            known = ", ".join(sorted(NAMES | own.names))
            raise BadRequest([f"There is no scraper {scraper[:100]!r}: there are {known}."])
        check_params(scraper, trial.params)
        pool.start(scraper)
        reply = trial.saved or await _fetched(canonical(trial.url).text, settings, worker, pool)
        if isinstance(reply, Failed):
            return Tried(scraper, reply, None)
        await pool.prepare(scraper)
        began = time.monotonic()
        outcome = await pool.extract(scraper, reply, params=trial.params, links=True)
        return Tried(scraper, outcome, reply, time.monotonic() - began)


def _only_one(names: frozenset[str]) -> str:
    if len(names) != 1:
        raise BadRequest(["Choose a scraper with --scraper."])
    return next(iter(names))


async def _fetched(
    url: str, settings: Settings, worker: WorkerSettings, pool: Pool
) -> Reply | Failed:
    """Sends requests through a worker's pipeline until there is an answer, with the default delay
    between two requests to a host."""
    clock, policy, visit = Clock(), whole_policy(settings), _visit(url)
    started_at: dict[str, float] = {}
    async with Fetcher(limits=worker.limits, user_agent=worker.user_agent,
                       allow=worker.allow) as fetcher:  # fmt: skip
        robots = RobotsCache(store=None, clock=clock, fetcher=fetcher,
                             user_agent=worker.user_agent)  # fmt: skip
        pipeline = Pipeline(robots=robots, fetcher=fetcher, pool=pool, now=clock.now,
                            max_redirects=worker.max_redirects)  # fmt: skip
        while True:
            known = pipeline.robots(visit, policy)
            if known is not None and (denied := denial(known, visit)) is not None:
                return denied
            await _wait_for(started_at, canonical(visit.url).host, policy)
            answer = await pipeline.fetch(visit, policy, lambda: True)
            if isinstance(answer, Reply):
                return answer
            match answer.outcome:
                case None:
                    continue  # robots.txt is cached now
                case Moved(url=onward, progress=progress):
                    visit = visit._replace(url=onward, progress=progress, hops=visit.hops + 1,
                                           page_url=url)  # fmt: skip
                case Failed() as failed:
                    return failed
                case other:
                    raise AssertionError(f"no condition was sent, and the answer was {other}")


async def _wait_for(started_at: dict[str, float], host: str, policy: Policy) -> None:
    delay = started_at.get(host, -math.inf) + policy.min_delay / 1000 - time.monotonic()
    await asyncio.sleep(max(0.0, delay))
    started_at[host] = time.monotonic()


def _visit(url: str) -> Visit:
    """Builds a visit of a page that no job has."""
    return Visit(
        page_id=0, turn=0, source_id=0, priority=5, rank=0, due_at=None, attempt=0, hops=0,
        url=url, progress=None, crashes=0, created_at=0, scraper="raw", options=None, etag=None,
        last_modified=None,
    )  # fmt: skip
