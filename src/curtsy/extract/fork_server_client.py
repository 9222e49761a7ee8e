"""The parent's side of the nursery: orders go out, news come in, on the worker's loop."""

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

_LONGEST_NEWS = 4_096
_ENDS_WITHIN_SECONDS = 5.0


class ForkServerGone(CurtsyError):
    code = "nursery_gone"

    def __init__(self) -> None:
        super().__init__("The process that makes readers of pages has ended.")


class ForkServerClient:
    """One nursery from its start to its end."""

    def __init__(
        self, *, memory_bytes: int, nursery: str, own: Sequence[str] | None = None
    ) -> None:
        self._memory_bytes = memory_bytes
        self._loop = asyncio.get_running_loop()
        self._made: deque[asyncio.Future[int]] = deque()
        self._readers: dict[int, ChildProcess] = {}
        self.gone = False
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", nursery, str(theirs.fileno())]
            command += ["--own", *own] if own is not None else []
            self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, env=without_secrets(os.environ),
                stderr=None if own is None else subprocess.DEVNULL,
            )  # fmt: skip
        self._channel.setblocking(False)
        self._loop.add_reader(self._channel.fileno(), self._hear)

    async def make(self) -> ChildProcess:
        if self.gone:
            raise ForkServerGone
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        made: asyncio.Future[int] = self._loop.create_future()
        order = f"make {self._memory_bytes}".encode()
        with theirs:
            try:
                socket.send_fds(self._channel, [order], [theirs.fileno()])
            except ConnectionError:
                ours.close()
                raise ForkServerGone from None
        self._made.append(made)
        _, reader = await self._loop.create_unix_connection(ChildProcess, sock=ours)
        try:
            reader.number = await made
        except BaseException:
            reader.close()
            raise
        self._readers[reader.number] = reader
        return reader

    def end(self, reader: ChildProcess) -> None:
        """Now, in the middle of whatever it does."""
        reader.close()
        if not self.gone:
            self._end(reader.number)

    def _end(self, number: int) -> None:
        with suppress(ConnectionError):  # the nursery has just died, and its children with it
            self._channel.send(f"end {number}".encode())

    def kill(self) -> None:
        """The nursery and all its children: it does not answer."""
        self._process.kill()
        if not self.gone:
            self._lose()

    async def close(self) -> None:
        if not self.gone:
            self._lose()
        try:
            await asyncio.to_thread(self._process.wait, _ENDS_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

    def _hear(self) -> None:
        try:
            news = self._channel.recv(_LONGEST_NEWS)
        except BlockingIOError:
            return
        except OSError:
            news = b""
        match news.decode().split():
            case ["made", number]:
                made = self._made.popleft()
                if not made.done():
                    made.set_result(int(number))
                else:
                    self._end(int(number))  # nobody waits for it any more
            case ["ended", number, status]:
                if (reader := self._readers.pop(int(number), None)) is not None:
                    reader.ended(int(status))
            case []:
                log.warning("nursery_ended", meaning="another is made for the next page")
                self._lose()

    def _lose(self) -> None:
        self.gone = True
        self._loop.remove_reader(self._channel.fileno())
        self._channel.close()
        for made in self._made:
            if not made.done():
                made.set_exception(ForkServerGone())
        for reader in self._readers.values():
            reader.close()
            reader.ended(None)
        self._readers.clear()
