"""Writes the access log; `truth.py` describes its format."""

import asyncio
import os
import socket
import struct
import time
from pathlib import Path

import orjson

from curtsy.demo import truth
from curtsy.demo.truth import End, Entry, Start

BATCH_SECONDS = 0.01
"""How long records are batched before a write. Short, because large writes delay responses."""


_UNTIL_LAST_DATA = 56  # bytes of Linux's tcp_info, whose last four are tcpi_last_data_recv
_LAST_DATA = struct.Struct("52xI")
TICK_MS = 4
"""The kernel's clock tick: its times are up to one tick too large or too small."""


def monotonic_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def arrived_ns(connection: socket.socket) -> int:
    """Returns when the last bytes reached this machine, by the kernel's account.

    The result does not depend on delays of this process. It is late by less than two ticks; it is
    early only if the kernel's ticks came late, as on a machine whose processor was taken away.
    """
    if not hasattr(socket, "TCP_INFO"):
        return monotonic_ns()
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _UNTIL_LAST_DATA)
    ms_ago: int = _LAST_DATA.unpack(info)[0]
    return monotonic_ns() - max(0, ms_ago - TICK_MS) * 1_000_000


class AccessLog:
    """Records requests in a file, or in memory without one."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._requests = 0
        self._starts: list[Start] = []
        self._ends: list[End] = []
        self._file: int | None = None
        self._due: asyncio.TimerHandle | None = None

    def open(self) -> None:
        if self._path is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            self._file = os.open(self._path, flags, 0o644)

    def began(self, at: int, host: str, path: str, port: int) -> int:
        """Records the start of a request and returns its number."""
        self._requests += 1
        self._starts.append(Start(self._requests, at, monotonic_ns(), host, path, port))
        if self._due is None:
            self._flush_soon()
        return self._requests

    def ended(self, n: int, status: int | None) -> int:
        """Records the end of request `n` and returns its instant."""
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
            self._due = asyncio.get_running_loop().call_later(BATCH_SECONDS, self.flush)

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
