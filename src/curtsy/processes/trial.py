"""One page through one scraper, outside of any job: for those who write scrapers.

The page is asked for as a worker would ask, robots.txt first and at the pace of a host that nobody
described, through the guard; or it comes from a file. The scraper runs in the pool.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from curtsy.config import Settings, worker_settings
from curtsy.errors import BadRequest
from curtsy.extract import Pool
from curtsy.fetch import Fetcher, Request
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Moved, Record, Reply
from curtsy.model.urls import canonical
from curtsy.politeness.classify import classify
from curtsy.politeness.robots import READ_BYTES, Robots, robots_of, token_of
from curtsy.processes.startup import own_scrapers
from curtsy.scrapers import NAMES, check_params
from curtsy.worker import WorkerSettings

MOST_ROBOTS_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Trial:
    scraper: str | None
    """None: the only one of your own."""
    url: str
    saved: Reply | None = None
    """Nothing is fetched then."""
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tried:
    scraper: str
    outcome: Record | Failed
    reply: Reply | None
    """None: there was no page."""
    seconds: float = 0.0
    """That the scraper took."""


async def try_page(settings: Settings, trial: Trial) -> Tried:
    own = own_scrapers(settings)
    told = worker_settings(settings, own)
    scraper = trial.scraper or _only_one(own.names)
    async with Pool(replace(told.extract, processes=1), own=own) as pool:
        if not pool.knows(scraper):
            known = ", ".join(sorted(NAMES | own.names))
            raise BadRequest([f"There is no scraper {scraper[:100]!r}: there are {known}."])
        check_params(scraper, trial.params)
        reply = trial.saved or await _fetched(canonical(trial.url).text, settings, told)
        if isinstance(reply, Failed):
            return Tried(scraper, reply, None)
        await pool.prepare(scraper)
        began = time.monotonic()
        outcome = await pool.extract(scraper, reply, params=trial.params, links=True)
        return Tried(scraper, outcome, reply, time.monotonic() - began)


def _only_one(names: frozenset[str]) -> str:
    if len(names) != 1:
        raise BadRequest(["Which scraper? Name one with --scraper."])
    return next(iter(names))


async def _fetched(url: str, settings: Settings, told: WorkerSettings) -> Reply | Failed:
    fetcher = Fetcher(limits=told.limits, user_agent=told.user_agent, allow=told.allow)
    async with fetcher:
        asking = _Asking(fetcher, settings)
        for _ in range(settings.max_redirects + 1):
            if (denied := await asking.barred(url)) is not None:
                return denied
            reply = await asking.ask(url)
            verdict = reply if isinstance(reply, Failed) else classify(reply, _now())
            if not isinstance(verdict, Moved):
                return reply if verdict is None else _final(verdict)
            url = verdict.url
    return Failed(Kind.REDIRECT_LOOP, f"More than {settings.max_redirects} redirects.")


def _final(verdict: Any) -> Failed:
    assert isinstance(verdict, Failed), "nothing was asked for on a condition"
    return verdict


class _Asking:
    """Request after request, each as far from the last as a host that nobody described wants."""

    def __init__(self, fetcher: Fetcher, settings: Settings) -> None:
        self._fetcher, self._settings = fetcher, settings
        self._asked_at: dict[str, float] = {}
        self._robots: dict[str, Robots | Failed] = {}

    async def ask(self, url: str) -> Reply | Failed:
        host = canonical(url).host
        rest = self._asked_at.get(host, 0) + self._settings.min_delay_seconds - time.monotonic()
        if host in self._asked_at and rest > 0:
            await asyncio.sleep(rest)
        reply = await self._fetcher.fetch(Request(url), lambda: True)
        self._asked_at[host] = time.monotonic()
        return reply

    async def barred(self, url: str) -> Failed | None:
        if self._settings.robots == "ignore":
            return None
        origin = url[: url.index("/", len("https://"))]
        if origin not in self._robots:
            self._robots[origin] = await self._read(f"{origin}/robots.txt")
        robots = self._robots[origin]
        if isinstance(robots, Failed):
            return robots
        if robots.allows(url.removeprefix(origin)):
            return None
        return Failed(Kind.ROBOTS_DENIED, "The host's robots.txt does not allow this page.")

    async def _read(self, url: str) -> Robots | Failed:
        """Where there is none, everything is allowed; where it cannot be read, nothing is."""
        for _ in range(MOST_ROBOTS_REDIRECTS + 1):
            reply = await self.ask(url)
            if isinstance(reply, Failed):
                return replace(reply, error=f"robots.txt could not be read: {reply.error}")
            match classify(reply, _now()):
                case None:
                    token = token_of(self._settings.user_agent)
                    return robots_of(reply.body[:READ_BYTES], token)
                case Moved(url=to) if canonical(to).host == canonical(url).host:
                    url = to
                case Failed() as failed if reply.status == 429 or reply.status >= 500:
                    return replace(failed, error=f"robots.txt could not be read: {failed.error}")
                case _:
                    break
        return Robots()


def _now() -> int:
    return int(time.time() * 1000)
