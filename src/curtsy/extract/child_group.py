"""The child processes of one fork server: forked on demand, reused while they are healthy."""

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
        keep_below_bytes: int,
    ) -> None:
        self._start = start
        self._pages_per_process, self._keep_below_bytes = pages_per_process, keep_below_bytes
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
            if (child := self._idle.pop()).usable:
                return client, child
        return client, await client.fork()

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

    def add_idle(self, child: ChildProcess) -> None:
        self._idle.append(child)

    async def close(self) -> None:
        if self.client is not None:
            await self.client.close()
