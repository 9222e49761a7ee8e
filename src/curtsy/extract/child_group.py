"""The child processes of one fork server: forked on demand, reused while they are healthy."""

import time
from collections.abc import Callable
from typing import Any

from curtsy.extract.child_process import ChildProcess
from curtsy.extract.fork_server_client import ForkServerClient
from curtsy.model.failure_kinds import Kind


class ChildGroup:
    """Starts no process before `start` or the first page."""

    def __init__(
        self,
        start: Callable[[], ForkServerClient],
        *,
        pages_per_process: int,
        seconds_per_process: float,
        keep_below_bytes: int,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._start, self._now = start, now
        self._pages_per_process, self._keep_below_bytes = pages_per_process, keep_below_bytes
        self._seconds_per_process = seconds_per_process
        self.client: ForkServerClient | None = None
        self._idle: list[ChildProcess] = []

    def start(self) -> None:
        """Starts the fork server; one that has ended waits for a page that needs another."""
        if self.client is None:
            self.client = self._start()

    async def acquire(self) -> tuple[ForkServerClient, ChildProcess]:
        """Returns an idle child process or forks a new one. Raises `ForkServerGone`."""
        client = self.client
        if client is None or client.gone:
            # No await in between: concurrent callers must not start a fork server each.
            gone, self.client = client, self._start()
            client = self.client
            self._idle.clear()
            if gone is not None:
                await gone.close()
        while self._idle:
            child = self._idle.pop()
            if child.usable and not self._is_old(child):
                return client, child
            if child.usable:
                client.kill_child(child)
        child = await client.fork()
        child.forked_at = self._now()
        return client, child

    def release(
        self, client: ForkServerClient, child: ChildProcess, header: dict[str, Any]
    ) -> None:
        """Reuses the child process, or kills it after too many pages or too much memory.

        The kill does not rely on the child's cooperation: a page may have changed the child.
        """
        worn_out = (
            child.pages >= self._pages_per_process
            or header["peak"] > self._keep_below_bytes
            or header.get("kind") == Kind.EXTRACT_MEMORY
        )
        if worn_out:
            client.kill_child(child)
        else:
            self.add_idle(child)

    def _is_old(self, child: ChildProcess) -> bool:
        return self._now() - child.forked_at >= self._seconds_per_process

    def add_idle(self, child: ChildProcess) -> None:
        self._idle.append(child)

    async def close(self) -> None:
        if self.client is not None:
            await self.client.close()
