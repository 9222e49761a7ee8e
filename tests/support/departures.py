"""Records when requests left, from the kernel's timestamps of packets on the loopback device.

The practice site's own timestamps can be late by some milliseconds if the whole machine loses the
processor for a moment. The kernel's are not: the sender's own system call stamps the packet.
Capturing packets needs root; without it, the site's timestamps are used.
"""

import ctypes
import socket
import struct
import threading
import time
from collections import defaultdict
from contextlib import suppress
from itertools import pairwise
from typing import Self
from urllib.parse import urlsplit

from curtsy.demo.process import PracticeProcess
from curtsy.demo.truth import Entry
from support.patience import PATIENCE

ETH_P_ALL = 3
SO_ATTACH_FILTER, SO_TIMESTAMPNS = 26, 35
READ_BYTES = 400
BUFFER_BYTES = 16 * 2**20
NANOSECONDS = 1_000_000_000
SET_AT_LEAST = 5_000_000
"""Nanoseconds: a larger change of the offset means that the clock was set."""

_Key = tuple[str, int, str]
"""Address, the client's port, path."""


class Departures:
    def __init__(self, port: int) -> None:
        self._port = port
        self._seen: dict[_Key, list[int]] = defaultdict(list)
        self._ahead = _wall_offset()
        self._recorded_until = 0
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        with suppress(PermissionError, AttributeError):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
            self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            _only_requests(self._socket, self._port)
            self._socket.settimeout(0.05)
            self._socket.bind(("lo", ETH_P_ALL))
            self._thread = threading.Thread(target=self._listen, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._socket is not None and self._thread is not None:
            self.drain()
            listening, self._socket = self._socket, None
            self._thread.join()
            listening.close()

    def drain(self) -> None:
        """Returns when every request that has left so far is recorded."""
        now = time.monotonic_ns()
        while self._socket is not None and self._recorded_until < now:
            assert time.monotonic_ns() < now + PATIENCE * NANOSECONDS, "the listener has stopped"
            time.sleep(0.01)

    def gap(self, before: Entry, after: Entry) -> float | None:
        """Seconds between two requests that the site saw; None: packets were not captured."""
        left = [self._seen.get((e.host, e.port, e.path), []) for e in (before, after)]
        if not all(left):
            return None
        return min(abs(b - a) for a in left[0] for b in left[1] if a != b) / NANOSECONDS

    def gaps(self) -> list[float] | None:
        """Seconds from each request to the next, whatever its host; None: packets were not
        captured."""
        if self._thread is None:
            return None
        self.drain()
        moments = sorted(at for seen in self._seen.values() for at in seen)
        return [(after - before) / NANOSECONDS for before, after in pairwise(moments)]

    def _listen(self) -> None:
        while (listening := self._socket) is not None:
            began = time.monotonic_ns()
            try:
                packet, notes, _flags, place = listening.recvmsg(READ_BYTES, 64)
            except TimeoutError:
                self._recorded_until = began
                continue
            if place[2] == socket.PACKET_OUTGOING and notes:
                seconds, nanoseconds = struct.unpack("qq", notes[0][2][:16])
                at = self._when(seconds * NANOSECONDS + nanoseconds)
                self._record(packet, at)
                self._recorded_until = at

    def _when(self, stamp: int) -> int:
        """The wall-clock timestamp on the monotonic clock. The wall clock may have been set since
        the last packet; a result in the future is ruled out."""
        before, self._ahead = self._ahead, _wall_offset()
        if abs(self._ahead - before) < SET_AT_LEAST:
            self._ahead = before  # a smaller difference is measuring noise
        now = time.monotonic_ns()
        return max((at for at in (stamp - before, stamp - self._ahead) if at <= now), default=now)

    def _record(self, packet: bytes, at: int) -> None:
        ip_length = (packet[0] & 15) * 4
        [client] = struct.unpack_from("!H", packet, ip_length)
        tcp_length = (packet[ip_length + 12] >> 4) * 4
        request = packet[ip_length + tcp_length :]
        if request.startswith(b"GET "):
            path = request[4:].partition(b" ")[0].decode()
            self._seen[socket.inet_ntoa(packet[16:20]), client, path].append(at)


def _wall_offset() -> int:
    """The wall clock minus the monotonic clock; of several readings, the quickest."""
    readings = []
    for _ in range(3):
        began, wall, ended = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((ended - began, wall - (began + ended) // 2))
    return min(readings)[1]


def port_of(site: PracticeProcess) -> int:
    port = urlsplit(site.url(0, "/")).port
    assert port is not None
    return port


def _only_requests(listening: socket.socket, port: int) -> None:
    """Attaches a kernel filter: only TCP to this port."""
    program = [
        (0x30, 0, 0, 9),  # the protocol
        (0x15, 0, 4, socket.IPPROTO_TCP),
        (0xB1, 0, 0, 0),  # the length of the IP header
        (0x48, 0, 0, 2),  # the destination port
        (0x15, 0, 1, port),
        (0x06, 0, 0, READ_BYTES),
        (0x06, 0, 0, 0),
    ]
    code = b"".join(struct.pack("HBBI", *step) for step in program)
    held = ctypes.create_string_buffer(code, len(code))
    filter_ = struct.pack("HL", len(program), ctypes.addressof(held))
    listening.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filter_)
