"""Each host's robots.txt: from memory, else from the store, else asked for.

Asking is a request like any other: the visit that needs the file spends a start of its lane on
it, and the page waits for the next one.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import zstandard

from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.fetch import Fetcher, Request
from curtsy.frontier.robots_files import RobotsFile, read_robots, store_robots
from curtsy.logs import logger
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Moved, Reply
from curtsy.model.urls import canonical
from curtsy.politeness.classify import classify
from curtsy.politeness.robots import READ_BYTES, Robots, robots_of, token_of
from curtsy.store import Store

log = logger("worker")

HOURS = 3_600_000
KEPT_FOR = 24 * HOURS
KEPT_AT_LEAST = HOURS // 12
MOST_REDIRECTS = 5
HOSTS_IN_MEMORY = 10_000
BYTES_IN_MEMORY = 8 * 2**20
"""Of files; what is made of one may take ten times its size."""
MOVED_AT_ONCE = 1_000
AFTER_FAILURE_SECONDS = 0.5
PARSE_IN_THREAD_FROM = 16 * 1024

_MAX_AGE = re.compile(r"\bmax-age=([0-9]{1,9})\b")
_PAGES_OWN = frozenset({Kind.TLS, Kind.ADDRESS_REFUSED, Kind.INTERNAL})
"""Failures that the page itself would meet; all others leave open what we may ask for."""


_Place = tuple[str, str | None]
"""An origin, and the name by which we go there where it is not the usual one."""


@dataclass(frozen=True, slots=True)
class _Known:
    robots: Robots
    expires_at: int
    size: int


class RobotsCache:
    def __init__(
        self, *, store: Store | None, clock: Clock, fetcher: Fetcher, user_agent: str
    ) -> None:
        """Without a store, files are only remembered."""
        self._store, self._clock, self._fetcher = store, clock, fetcher
        self._token = token_of(user_agent)
        self._known: dict[_Place, _Known] = {}
        """The oldest first."""
        self._size = 0
        self._moved: dict[str, tuple[str, int]] = {}
        """By origin: where its file is to be asked for next, after how many redirects."""

    def known(self, url: str, agent: str | None = None) -> Robots | None:
        """Whatever memory has for this URL, for one who goes by that name."""
        known = self._known.get((_origin(url), agent))
        if known is None or known.expires_at <= self._clock.now():
            return None
        return known.robots

    async def recalled(self, url: str, agent: str | None = None) -> Robots | None:
        """From the store, if any worker asked for it not too long ago."""
        kept = await self._kept(canonical(url).host)
        if kept is None:
            return None
        file = zstandard.decompress(kept.file, max_output_size=READ_BYTES) if kept.file else b""
        return await self._remember((_origin(url), agent), file, kept.expires_at)

    async def ask(
        self, url: str, as_asked: Request, may_start: Callable[[], bool]
    ) -> tuple[Failed | None, int]:
        """One request. Afterwards the file is known, or where to ask next, or why we must wait.

        `as_asked` says how, but for the URL. Also says how many bytes came.
        """
        origin, host = _origin(url), canonical(url).host
        at, hops = self._moved.pop(origin, (f"{origin}/robots.txt", 0))
        place = (origin, as_asked.user_agent)
        reply = await self._fetcher.fetch(replace(as_asked, url=at), may_start)
        if isinstance(reply, Failed):
            return _unreachable(reply), 0
        match classify(reply, self._clock.now()):
            case None:
                await self._learn(place, host, reply, reply.body[:READ_BYTES])
            case Moved(url=to) if hops < MOST_REDIRECTS and canonical(to).host == host:
                if len(self._moved) >= MOVED_AT_ONCE:
                    self._moved.clear()  # they begin again
                self._moved[origin] = to, hops + 1
            case Failed() as failed if reply.status == 429 or reply.status >= 500:
                return _unreachable(failed), reply.wire_bytes
            case _:
                await self._learn(place, host, reply, b"")
        return None, reply.wire_bytes

    async def _kept(self, host: str) -> RobotsFile | None:
        while self._store is not None:
            try:
                return await self._store.read(
                    partial(read_robots, host=host, now=self._clock.now())
                )
            except (StoreAway, StoreFull) as away:
                log.warning("robots_wait_for_store", host=host, reason=str(away))
                await asyncio.sleep(AFTER_FAILURE_SECONDS)
        return None

    async def _learn(self, place: _Place, host: str, reply: Reply, file: bytes) -> None:
        expires_at = self._clock.now() + _fresh_for(reply)
        await self._remember(place, file, expires_at)
        if self._store is None:
            return
        kept = RobotsFile(zstandard.compress(file) if file else b"", expires_at)
        try:
            await self._store.write(lambda c: store_robots(c, host, kept, status=reply.status))
        except (StoreAway, StoreFull) as away:
            log.warning("robots_not_kept", host=host, reason=str(away))

    async def _remember(self, place: _Place, file: bytes, expires_at: int) -> Robots:
        _origin, agent = place
        token = token_of(agent) if agent else self._token
        if len(file) < PARSE_IN_THREAD_FROM:
            robots = robots_of(file, token)
        else:
            robots = await asyncio.to_thread(robots_of, file, token)
        self._forget(place)
        self._known[place] = _Known(robots, expires_at, len(file))
        self._size += len(file)
        while len(self._known) > HOSTS_IN_MEMORY or self._size > BYTES_IN_MEMORY:
            self._forget(next(iter(self._known)))
        return robots

    def _forget(self, place: _Place) -> None:
        if (known := self._known.pop(place, None)) is not None:
            self._size -= known.size


def path_of(url: str) -> str:
    return url[len(_origin(url)) :]


def _origin(url: str) -> str:
    return url[: url.index("/", len("https://"))]


def _fresh_for(reply: Reply) -> int:
    """As long as the host says, within bounds."""
    said = _MAX_AGE.search(reply.headers.get("cache-control", ""))
    return max(KEPT_AT_LEAST, min(KEPT_FOR, int(said[1]) * 1000)) if said else KEPT_FOR


def _unreachable(failed: Failed) -> Failed:
    """Without the file nothing may be asked for: the host rests, and is given up in the end."""
    if failed.final or failed.kind in _PAGES_OWN:
        return failed
    error = f"robots.txt could not be read, so the page was not asked for: {failed.error}"
    return replace(failed, error=error, whole_host=True)
