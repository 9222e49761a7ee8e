"""The parent's side of a fork server: sends commands and receives reports on the worker's loop."""

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from curtsy.errors import CurtsyError
from curtsy.extract.child_process import ChildProcess
from curtsy.extract.confinement import without_secrets
from curtsy.logs import logger

log = logger("extract")

_LONGEST_REPORT = 4_096
_EXIT_SECONDS = 5.0


class ForkServerGone(CurtsyError):
    code = "nursery_gone"

    def __init__(self) -> None:
        super().__init__("The fork server, which starts the scraper processes, has ended.")


class ForkServerClient:
    """One fork server from its start to its end."""

    def __init__(self, *, memory_bytes: int, module: str, own: Sequence[str] | None = None) -> None:
        self._memory_bytes = memory_bytes
        self._loop = asyncio.get_running_loop()
        self._forking: deque[asyncio.Future[int]] = deque()
        self._children: dict[int, ChildProcess] = {}
        self.gone = False
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", module, str(theirs.fileno())]
            command += ["--own", *own] if own is not None else []
            self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, env=without_secrets(os.environ),
                stderr=None if own is None else subprocess.DEVNULL,
            )  # fmt: skip
        self._channel.setblocking(False)
        self._loop.add_reader(self._channel.fileno(), self._receive)

    async def fork(self) -> ChildProcess:
        if self.gone:
            raise ForkServerGone
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        forked: asyncio.Future[int] = self._loop.create_future()
        command = f"fork {self._memory_bytes}".encode()
        with theirs:
            try:
                socket.send_fds(self._channel, [command], [theirs.fileno()])
            except ConnectionError:
                ours.close()
                raise ForkServerGone from None
        self._forking.append(forked)
        _, child = await self._loop.create_unix_connection(ChildProcess, sock=ours)
        try:
            child.pid = await forked
        except BaseException:
            child.close()
            raise
        self._children[child.pid] = child
        return child

    def kill_child(self, child: ChildProcess) -> None:
        """Kills the child at once, even in the middle of a page."""
        child.close()
        if not self.gone:
            self._send_kill(child.pid)

    def _send_kill(self, pid: int) -> None:
        with suppress(ConnectionError):  # the fork server has just died, and its children with it
            self._channel.send(f"kill {pid}".encode())

    def kill(self) -> None:
        """Kills a fork server that does not respond, with all its children."""
        self._process.kill()
        if not self.gone:
            self._disconnect()

    async def close(self) -> None:
        if not self.gone:
            self._disconnect()
        try:
            await asyncio.to_thread(self._process.wait, _EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

    def _receive(self) -> None:
        try:
            report = self._channel.recv(_LONGEST_REPORT)
        except BlockingIOError:
            return
        except OSError:
            report = b""
        match report.decode().split():
            case ["forked", pid]:
                forked = self._forking.popleft()
                if not forked.done():
                    forked.set_result(int(pid))
                else:
                    self._send_kill(int(pid))  # the caller has given up
            case ["exited", pid, status]:
                if (child := self._children.pop(int(pid), None)) is not None:
                    child.exited(int(status))
            case []:
                log.warning("nursery_ended", meaning="another is made for the next page")
                self._disconnect()

    def _disconnect(self) -> None:
        self.gone = True
        self._loop.remove_reader(self._channel.fileno())
        self._channel.close()
        for forked in self._forking:
            if not forked.done():
                forked.set_exception(ForkServerGone())
        for child in self._children.values():
            child.close()
            child.exited(None)
        self._children.clear()
