"""Runs the practice site inside a program: `async with PracticeSite(hosts=20) as site: …`."""

import asyncio
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from curtsy.demo import addresses
from curtsy.demo.access_log import AccessLog, monotonic_ns
from curtsy.demo.listeners import BACKLOG, listen
from curtsy.demo.server import Connection
from curtsy.demo.shared_state import SharedState
from curtsy.demo.site_pages import Place
from curtsy.demo.truth import NANOSECONDS, Entry

IDLE_SECONDS = 75.0
_CHECKS_PER_IDLE = 5


class PracticeSite:
    """Hosts on loopback that share one port number, one log and one set of counters.

    `port` 0 picks a free one. Without `log` the whole access log stays in memory. Each host and
    each connection takes one open file: mind the program's limit.
    """

    def __init__(
        self,
        *,
        hosts: int = 20,
        port: int = 0,
        log: Path | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        if not 1 <= hosts <= addresses.MOST_HOSTS:
            raise ValueError(f"{hosts} hosts: the number must be from 1 to {addresses.MOST_HOSTS}")
        self.hosts = hosts
        self.port = port
        self._idle_seconds = idle_seconds
        self._log = AccessLog(log)
        self._shared = SharedState(self._log)
        self._servers: list[asyncio.Server] = []
        self._next_check: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._close()

    def url(self, host_index: int, path: str) -> str:
        """The URL of a page of the host with this number, from 0."""
        return addresses.url(host_index, self.port, path)

    def entries(self) -> list[Entry]:
        """The requests so far, in the order of their start."""
        return self._log.entries()

    def reset(self) -> None:
        """Resets the counters of flaky and limited pages; the log goes on."""
        self._shared.reset_counts()

    async def _open(self) -> None:
        self._log.open()
        names = [addresses.address(index) for index in range(self.hosts)]
        sockets = listen(names, self.port)
        self.port = sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        for name, one in zip(names, sockets, strict=True):
            connection = partial(Connection, Place(name, self.port, self.hosts), self._shared)
            self._servers.append(await loop.create_server(connection, sock=one, backlog=BACKLOG))
        self._close_idle()

    async def _close(self) -> None:
        if self._next_check is not None:
            self._next_check.cancel()
        for server in self._servers:
            server.close()
        await self._shared.close_all()
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()
        self._log.close()

    def _close_idle(self) -> None:
        self._shared.close_idle(monotonic_ns() - int(self._idle_seconds * NANOSECONDS))
        loop = asyncio.get_running_loop()
        self._next_check = loop.call_later(self._idle_seconds / _CHECKS_PER_IDLE, self._close_idle)
