"""Which of a source's proxies is next: one after the other, except those that rest after a
failure. Kept in memory: after a restart every proxy gets another chance."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")
V = TypeVar("V")
FIRST_REST, LONGEST_REST = 60.0, 1_800.0
"""Seconds. A rest is twice as long as the one before, until the proxy works."""
ENOUGH_FAILED = 3
"""So many proxies that cannot connect to a host, one after the other, show that the host is at
fault: a proxy alone may swallow what it is asked for."""
MOST_REMEMBERED = 10_000
"""The most failed proxies, and the most lists."""


class _Rest(NamedTuple):
    until: float
    seconds: float


_Key = tuple[str, str | None]
"""A proxy; with a host, only for requests to that host."""


class ProxyRotation:
    """A host is a name with its port. A proxy that could not connect to one may be in order."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now
        self._rests: dict[_Key, _Rest] = {}
        self._next: dict[tuple[str, ...], int] = {}

    def ready(self, proxies: Sequence[str], host: str) -> list[str]:
        """The proxies that do not rest, in the order in which to try them. The next call begins
        with the one after the first."""
        key, now = tuple(proxies), self._now()
        start = self._next.pop(key, 0)
        turned = [*key[start:], *key[:start]]
        ready = [proxy for proxy in turned if self._until(proxy, host) <= now]
        self._next[key] = (key.index(ready[0]) + 1 if ready else start) % len(key)
        _bound(self._next)
        return ready

    def failed(self, proxy: str, host: str | None = None) -> None:
        """The proxy rests: longer from one failure to the next, or only for one host. Of several
        failures at once only the first counts."""
        key, now = (proxy, host), self._now()
        before = self._rests.pop(key, None)
        if before is not None and before.until > now:
            self._rests[key] = before
            return
        seconds = FIRST_REST
        if before is not None and host is None:
            seconds = min(LONGEST_REST, 2 * before.seconds)
        self._rests[key] = _Rest(now + seconds, seconds)
        _bound(self._rests)

    def worked(self, proxy: str, host: str) -> None:
        self._rests.pop((proxy, None), None)
        self._rests.pop((proxy, host), None)

    def host_fails(self, proxies: Sequence[str], host: str) -> bool:
        """Whether enough of the proxies, or all that are in order, could not connect to the host
        the last time: also where their rests are over by now."""
        now = self._now()
        in_order = [p for p in proxies if _until(self._rests.get((p, None))) <= now]
        failed = sum((proxy, host) in self._rests for proxy in in_order)
        return failed >= min(ENOUGH_FAILED, len(in_order))

    def back_in(self, proxies: Sequence[str], host: str) -> float:
        """Seconds until one of the proxies is ready; 0: one is."""
        return max(0.0, min(self._until(proxy, host) for proxy in proxies) - self._now())

    def _until(self, proxy: str, host: str) -> float:
        return max(_until(self._rests.get((proxy, None))), _until(self._rests.get((proxy, host))))


def _until(rest: _Rest | None) -> float:
    return 0.0 if rest is None else rest.until


def _bound(memory: dict[T, V]) -> None:
    """Forgets the oldest entry of a memory that has become too large."""
    if len(memory) > MOST_REMEMBERED:
        del memory[next(iter(memory))]
