"""The parent's side of a fork server: sends commands and receives reports on the worker's loop."""

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
from collections import deque
from contextlib import suppress
from pathlib import Path

from curtsy.errors import CurtsyError
from curtsy.extract.child_process import ChildProcess
from curtsy.extract.confinement import allowed_environment
from curtsy.extract.readable_paths import as_arguments
from curtsy.logs import logger
from curtsy.scrapers.registry import OwnScrapers

log = logger("extract")

_LONGEST_REPORT = 4_096
_LONGEST_NUMBER = 10


class ForkServerGone(CurtsyError):
    code = "nursery_gone"

    def __init__(self) -> None:
        super().__init__("The fork server, which starts the scraper processes, has ended.")


class ForkServerClient:
    """One fork server from its start to its end.

    The server may have imported code of others, so its reports may be false.
    """

    def __init__(self, *, memory_bytes: int, module: str, own: OwnScrapers | None = None) -> None:
        self._memory_bytes = memory_bytes
        self._loop = asyncio.get_running_loop()
        self._forking: deque[asyncio.Future[int]] = deque()
        self._children: dict[int, ChildProcess] = {}
        self.gone = False
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", module, str(theirs.fileno())]
            command += ["--own", *as_arguments(own.files, own.data)] if own is not None else []
            self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, env=allowed_environment(os.environ),
                stderr=None if own is None else subprocess.DEVNULL,
                process_group=0,  # so that whatever it started ends with it
            )  # fmt: skip
        self._channel.setblocking(False)
        self._loop.add_reader(self._channel.fileno(), self._receive)

    @property
    def pid(self) -> int:
        return self._process.pid

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
            except (ConnectionError, BlockingIOError) as error:
                ours.close()
                if isinstance(error, BlockingIOError):  # it has not read for long
                    self.kill()
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
            self._kill_forked(child.pid)

    def _kill_forked(self, pid: int) -> None:
        """Kills a child of the fork server, and no other process, whatever the server said."""
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        except OSError:  # an old kernel, or a number that never was a process
            self.kill()
            return
        try:
            # The descriptor is older than the look: a process that gets the number in between is
            # not the one that is signalled.
            parent = _parent_of(pid)
            if parent == self._process.pid:
                signal.pidfd_send_signal(process, signal.SIGKILL)
            elif parent is not None or _is_running(process):  # /proc may hide it (hidepid)
                self.kill()
        except ProcessLookupError:
            pass
        finally:
            os.close(process)

    def kill(self) -> None:
        """Kills a fork server that does not respond, with all its children."""
        self._kill_group()
        if not self.gone:
            self._disconnect()

    async def close(self) -> None:
        if not self.gone:
            self._disconnect()
        self._kill_group()
        await asyncio.to_thread(self._process.wait)

    def _kill_group(self) -> None:
        """Also ends processes that imported code has started."""
        if self._process.returncode is None:  # then nobody else can have its number
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _receive(self) -> None:
        try:
            report = self._channel.recv(_LONGEST_REPORT)
        except BlockingIOError:
            return
        except OSError:
            report = b""
        match report.decode(errors="replace").split():
            case ["forked", pid] if self._forking and _is_number(pid):
                forked = self._forking.popleft()
                if not forked.done():
                    forked.set_result(int(pid))
                else:
                    self._kill_forked(int(pid))  # the caller has given up
            case ["exited", pid, status] if _is_number(pid) and _is_number(
                status.removeprefix("-")
            ):
                if (child := self._children.pop(int(pid), None)) is not None:
                    child.exited(int(status))
            case []:
                log.warning("nursery_ended", meaning="another is made for the next page")
                self._disconnect()
            case _:
                log.warning("nursery_disturbed", meaning="it is killed; another is made")
                self.kill()

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


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < _LONGEST_NUMBER


def _is_running(process: int) -> bool:
    """Whether the process of a descriptor has not ended."""
    ends = select.poll()
    ends.register(process, select.POLLIN)
    return not ends.poll(0)


def _parent_of(pid: int) -> int | None:
    """Returns None when there is no such process any more, or /proc does not show it."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except OSError:
        return None
