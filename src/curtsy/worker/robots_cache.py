"""Each host's robots.txt: from memory, else from the store, else requested from the host.

The request counts like any other: the visit that needs the file uses a start of its lane for it,
and the page waits for the next start.
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
from curtsy.model.origins import is_downgrade, origin_of
from curtsy.model.outcome import Failed, Moved, Reply
from curtsy.model.urls import canonical
from curtsy.politeness.classify import classify
from curtsy.politeness.robots import READ_BYTES, Robots, robots_of, token_of
from curtsy.store import Store

log = logger("worker")

HOURS = 3_600_000
FRESH_FOR = 24 * HOURS
FRESH_AT_LEAST = HOURS // 12
MOST_REDIRECTS = 5
HOSTS_IN_MEMORY = 10_000
BYTES_IN_MEMORY = 8 * 2**20
"""Bytes of files; a parsed file may take ten times its size."""
MOVED_AT_ONCE = 1_000
AFTER_FAILURE_SECONDS = 0.5
PARSE_IN_THREAD_FROM = 16 * 1024

_MAX_AGE = re.compile(r"\bmax-age=([0-9]{1,9})\b")
_PAGES_OWN = frozenset({Kind.TLS, Kind.ADDRESS_REFUSED, Kind.INTERNAL})
"""Failures that the page itself would meet too; all others leave open what is allowed."""


_CacheKey = tuple[str, str | None]
"""An origin, and the User-Agent where it is not the default one."""


@dataclass(frozen=True, slots=True)
class _CachedRobots:
    robots: Robots
    expires_at: int
    size: int


class RobotsCache:
    def __init__(
        self, *, store: Store | None, clock: Clock, fetcher: Fetcher, user_agent: str
    ) -> None:
        """Without a store, files are cached in memory only."""
        self._store, self._clock, self._fetcher = store, clock, fetcher
        self._token = token_of(user_agent)
        self._cached: dict[_CacheKey, _CachedRobots] = {}
        """Ordered by insertion, the oldest first."""
        self._size = 0
        self._moved: dict[str, tuple[str, int]] = {}
        """By origin: where its file moved to, and after how many redirects."""

    def known(self, url: str, agent: str | None = None) -> Robots | None:
        """Returns the rules for this URL and User-Agent from memory."""
        known = self._cached.get((origin_of(url), agent))
        if known is None or known.expires_at <= self._clock.now():
            return None
        return known.robots

    async def load(self, url: str, agent: str | None = None) -> Robots | None:
        """Loads the rules from the store, if any worker requested them recently enough."""
        kept = await self._stored(canonical(url).host)
        if kept is None:
            return None
        file = zstandard.decompress(kept.file, max_output_size=READ_BYTES) if kept.file else b""
        return await self._remember((origin_of(url), agent), file, kept.expires_at)

    async def request(
        self, url: str, template: Request, may_start: Callable[[], bool]
    ) -> tuple[Failed | None, int]:
        """Sends one request. Afterwards the file is known, or its new location, or a failure is
        returned. Also returns the number of received bytes.

        `template` is the request except for its URL.
        """
        origin, host = origin_of(url), canonical(url).host
        at, hops = self._moved.pop(origin, (f"{origin}/robots.txt", 0))
        cache_key = (origin, template.user_agent)
        if is_downgrade(at, from_url=origin):
            template = replace(template, headers=())
        reply = await self._fetcher.fetch(replace(template, url=at), may_start)
        if isinstance(reply, Failed):
            return _unreachable(reply), 0
        match classify(reply, self._clock.now()):
            case None:
                await self._store_file(cache_key, host, reply, reply.body[:READ_BYTES])
            case Moved(url=to) if hops < MOST_REDIRECTS and canonical(to).host == host:
                if len(self._moved) >= MOVED_AT_ONCE:
                    self._moved.clear()  # their requests start again from the beginning
                self._moved[origin] = to, hops + 1
            case Failed() as failed if reply.status == 429 or reply.status >= 500:
                return _unreachable(failed), reply.wire_bytes
            case _:
                await self._store_file(cache_key, host, reply, b"")
        return None, reply.wire_bytes

    async def _stored(self, host: str) -> RobotsFile | None:
        while self._store is not None:
            try:
                return await self._store.read(
                    partial(read_robots, host=host, now=self._clock.now())
                )
            except (StoreAway, StoreFull) as away:
                log.warning("robots_wait_for_store", host=host, reason=str(away))
                await asyncio.sleep(AFTER_FAILURE_SECONDS)
        return None

    async def _store_file(self, cache_key: _CacheKey, host: str, reply: Reply, file: bytes) -> None:
        expires_at = self._clock.now() + _fresh_for(reply)
        await self._remember(cache_key, file, expires_at)
        if self._store is None:
            return
        kept = RobotsFile(zstandard.compress(file) if file else b"", expires_at)
        try:
            await self._store.write(lambda c: store_robots(c, host, kept, status=reply.status))
        except (StoreAway, StoreFull) as away:
            log.warning("robots_not_kept", host=host, reason=str(away))

    async def _remember(self, cache_key: _CacheKey, file: bytes, expires_at: int) -> Robots:
        _origin, agent = cache_key
        token = token_of(agent) if agent else self._token
        if len(file) < PARSE_IN_THREAD_FROM:
            robots = robots_of(file, token)
        else:
            robots = await asyncio.to_thread(robots_of, file, token)
        self._forget(cache_key)
        self._cached[cache_key] = _CachedRobots(robots, expires_at, len(file))
        self._size += len(file)
        while len(self._cached) > HOSTS_IN_MEMORY or self._size > BYTES_IN_MEMORY:
            self._forget(next(iter(self._cached)))
        return robots

    def _forget(self, cache_key: _CacheKey) -> None:
        if (known := self._cached.pop(cache_key, None)) is not None:
            self._size -= known.size


def path_of(url: str) -> str:
    return url[len(origin_of(url)) :]


def _fresh_for(reply: Reply) -> int:
    """Returns the host's max-age, within bounds."""
    max_age = _MAX_AGE.search(reply.headers.get("cache-control", ""))
    return max(FRESH_AT_LEAST, min(FRESH_FOR, int(max_age[1]) * 1000)) if max_age else FRESH_FOR


def _unreachable(failed: Failed) -> Failed:
    """Without the file no page may be requested: the host rests, and is given up in the end."""
    if failed.final or failed.kind in _PAGES_OWN:
        return failed
    error = f"robots.txt could not be read, so the page was not requested: {failed.error}"
    return replace(failed, error=error, whole_host=True)
