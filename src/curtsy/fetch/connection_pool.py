"""Idle connections for the next request to their origin."""

import asyncio

from curtsy.fetch.connection import Connection
from curtsy.fetch.request import Origin

# Shorter than the 5 seconds after which many servers close an idle connection. A request that
# crosses such a close on the wire is lost: it has started, so it must not be sent again.
IDLE_SECONDS = 4.0
MOST_IDLE = 1_000
_SWEEP_SECONDS = 1.0


class ConnectionPool:
    def __init__(self) -> None:
        self._idle: dict[Origin, list[tuple[float, Connection]]] = {}
        self._count = 0
        self._loop = asyncio.get_running_loop()
        self._sweep: asyncio.TimerHandle | None = None

    def acquire(self, origin: Origin) -> Connection | None:
        """Returns the most recently used connection, the least likely to be closed by the host."""
        idle = self._idle.get(origin)
        oldest = self._loop.time() - IDLE_SECONDS
        while idle:
            since, connection = idle.pop()
            self._count -= 1
            if since > oldest and connection.usable:
                return connection
            connection.close()
        return None

    def release(self, connection: Connection) -> None:
        if not connection.usable:
            return
        if self._count >= MOST_IDLE:
            connection.close()
            return
        self._idle.setdefault(connection.origin, []).append((self._loop.time(), connection))
        self._count += 1
        if self._sweep is None:
            self._sweep = self._loop.call_later(_SWEEP_SECONDS, self._close_old)

    def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        self._close_until(float("inf"))

    def _close_old(self) -> None:
        self._close_until(self._loop.time() - IDLE_SECONDS)
        self._sweep = self._loop.call_later(_SWEEP_SECONDS, self._close_old) if self._idle else None

    def _close_until(self, last: float) -> None:
        for origin, idle in list(self._idle.items()):
            young = [(since, one) for since, one in idle if since > last and one.usable]
            for since, one in idle:
                if since <= last:
                    one.close()
            self._count -= len(idle) - len(young)
            if young:
                self._idle[origin] = young
            else:
                del self._idle[origin]
