"""The practice site inside a program: `async with PracticeSite(hosts=20) as site: …`."""

import asyncio
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from curtsy.demo import addresses
from curtsy.demo.access_log import AccessLog, monotonic_ns
from curtsy.demo.listeners import BACKLOG, listen
from curtsy.demo.pages import Place
from curtsy.demo.server import Connection
from curtsy.demo.shared_state import Reception
from curtsy.demo.truth import NANOSECONDS, Entry

IDLE_SECONDS = 75.0
_LOOKS_PER_IDLE = 5


class PracticeSite:
    """Hosts on loopback that share one port number, one log and one set of counters.

    `port` 0 picks a free one. Without `log` the access log is kept in memory, whole. Each host
    takes one open file and so does each connection: mind the program's limit.
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
            raise ValueError(f"{hosts} hosts: from 1 to {addresses.MOST_HOSTS} can be played")
        self.hosts = hosts
        self.port = port
        self._idle_seconds = idle_seconds
        self._log = AccessLog(log)
        self._reception = Reception(self._log)
        self._servers: list[asyncio.Server] = []
        self._next_look: asyncio.TimerHandle | None = None

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
        """The address of a page of the host with this number, from 0."""
        return addresses.url(host_index, self.port, path)

    def entries(self) -> list[Entry]:
        """What was asked until now, in the order in which it began."""
        return self._log.entries()

    def reset(self) -> None:
        """Flaky and limited pages begin again; the log goes on."""
        self._reception.forget_counts()

    async def _open(self) -> None:
        self._log.open()
        names = [addresses.address(index) for index in range(self.hosts)]
        sockets = listen(names, self.port)
        self.port = sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        for name, one in zip(names, sockets, strict=True):
            guest = partial(Connection, Place(name, self.port, self.hosts), self._reception)
            self._servers.append(await loop.create_server(guest, sock=one, backlog=BACKLOG))
        self._look_for_idle()

    async def _close(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
        for server in self._servers:
            server.close()
        await self._reception.close_all()
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()
        self._log.close()

    def _look_for_idle(self) -> None:
        self._reception.close_quiet(monotonic_ns() - int(self._idle_seconds * NANOSECONDS))
        loop = asyncio.get_running_loop()
        self._next_look = loop.call_later(self._idle_seconds / _LOOKS_PER_IDLE, self._look_for_idle)
