"""Writing the access log; `truth.py` says what is in it."""

import asyncio
import os
import socket
import struct
import time
from pathlib import Path

import orjson

from curtsy.demo import truth
from curtsy.demo.truth import End, Entry, Start

WRITTEN_AFTER_SECONDS = 0.01
"""A record waits this long for others. Short, because writing many of them delays the answers."""


_UNTIL_LAST_DATA = 56  # bytes of Linux's tcp_info, whose last four are tcpi_last_data_recv
_LAST_DATA = struct.Struct("52xI")
TICK_MS = 4
"""The kernel counts in these, so what it says is up to one more or one less."""


def monotonic_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def arrived_ns(connection: socket.socket) -> int:
    """When the last bytes reached this machine, however long this process was held up since.

    Later than the truth by less than two ticks; earlier only where the kernel's ticks came late,
    as they do on a machine whose processor is taken away for a while.
    """
    if not hasattr(socket, "TCP_INFO"):
        return monotonic_ns()
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _UNTIL_LAST_DATA)
    ms_ago: int = _LAST_DATA.unpack(info)[0]
    return monotonic_ns() - max(0, ms_ago - TICK_MS) * 1_000_000


class AccessLog:
    """Kept in a file, or in memory where none is given."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._asked = 0
        self._starts: list[Start] = []
        self._ends: list[End] = []
        self._file: int | None = None
        self._due: asyncio.TimerHandle | None = None

    def open(self) -> None:
        if self._path is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            self._file = os.open(self._path, flags, 0o644)

    def began(self, at: int, host: str, path: str, port: int) -> int:
        self._asked += 1
        self._starts.append(Start(self._asked, at, monotonic_ns(), host, path, port))
        if self._due is None:
            self._flush_soon()
        return self._asked

    def ended(self, n: int, status: int | None) -> int:
        """Returns the instant that was noted."""
        at = monotonic_ns()
        self._ends.append(End(n, at, status))
        if self._due is None:
            self._flush_soon()
        return at

    def flush(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._file is None or not (self._starts or self._ends):
            return
        records: list[Start | End] = [*self._starts, *self._ends]
        self._starts.clear()
        self._ends.clear()
        left = memoryview(b"\n".join([*map(orjson.dumps, records), b""]))
        while left:
            left = left[os.write(self._file, left) :]

    def _flush_soon(self) -> None:
        if self._file is not None:
            self._due = asyncio.get_running_loop().call_later(WRITTEN_AFTER_SECONDS, self.flush)

    def close(self) -> None:
        self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def entries(self) -> list[Entry]:
        self.flush()
        if self._path is None:
            return truth.joined(self._starts, self._ends)
        return truth.parse(self._path.read_bytes())
