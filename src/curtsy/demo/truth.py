"""The access log of the site: its format, its parser and functions on its entries. Pure.

The log is JSON, one record to a line, of two kinds. When the head of a request is complete:

    {"n": 7, "at": 81236549871234, "seen_at": 81236549971234, "host": "127.0.1.3",
     "path": "/page/1", "port": 51234}

and when its response has ended:

    {"end": 7, "at": 81236549990001, "status": 200}

`n` counts the requests of one site from 1, over all its hosts. Instants are CLOCK_MONOTONIC in
nanoseconds: one clock for all hosts and for every process of the machine. `at` is when the request
reached the machine by the kernel's account, late by less than 8 ms (and early if the kernel's own
ticks came late); `seen_at` is when the site read it, which is never early. `path` is the target of
the request with its query; `port` is the client's. A response has ended when the system has its
last byte; `status` is null if the connection ended first: dropped by the site (`/reset/`), or by a
client that hung up or was killed. Malformed requests (answered 400 or 431) are not in the log.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import orjson

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Start:
    n: int
    at: int
    seen_at: int
    host: str
    path: str
    port: int


@dataclass(frozen=True, slots=True)
class End:
    end: int
    at: int
    status: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One request; its instants are nanoseconds of CLOCK_MONOTONIC."""

    n: int
    at: int
    seen_at: int
    host: str
    path: str
    port: int
    ended_at: int | None
    """None while the request is open."""
    status: int | None
    """None until the response has ended, and if the connection ended first."""


def parse(log: bytes) -> list[Entry]:
    """Returns the entries of a log, without an incomplete last line."""
    starts: list[Start] = []
    ends: list[End] = []
    for line in log.split(b"\n")[:-1]:
        record = orjson.loads(line)
        if "end" in record:
            ends.append(End(**record))
        else:
            starts.append(Start(**record))
    return joined(starts, ends)


def joined(starts: Iterable[Start], ends: Iterable[End]) -> list[Entry]:
    """Joins starts with their ends, in the order of their start."""
    end_of = {end.end: end for end in ends}
    entries = []
    for start in starts:
        end = end_of.get(start.n)
        ended_at, status = (None, None) if end is None else (end.at, end.status)
        entries.append(Entry(start.n, start.at, start.seen_at, start.host, start.path, start.port,
                             ended_at, status))  # fmt: skip
    return sorted(entries, key=lambda entry: (entry.at, entry.n))


def smallest_gap(entries: Iterable[Entry], host: str) -> float | None:
    """The shortest time between two starts at this host in seconds; None below two requests."""
    return smallest_gaps(entries).get(host)


def gap(before: Entry, after: Entry) -> float:
    """Seconds between two starts, or slightly more, but never less than they really were."""
    return (after.seen_at - before.at) / NANOSECONDS


def smallest_gaps(entries: Iterable[Entry]) -> dict[str, float]:
    """The smallest gap of every host with at least two requests."""
    by_host: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: (entry.at, entry.n)):
        by_host[entry.host].append(entry)
    return {
        host: min(gap(before, after) for before, after in pairwise(of_host))
        for host, of_host in by_host.items()
        if len(of_host) > 1
    }


def counts(entries: Iterable[Entry]) -> Counter[tuple[str, str]]:
    """Requests of each path of each host."""
    return Counter((entry.host, entry.path) for entry in entries)


def most_at_once(entries: Iterable[Entry], host: str | None = None) -> int:
    """The most requests that were open at the same time, at one host or at all.

    A request without an end counts as open from its start on.
    """
    changes: list[tuple[int, int]] = []
    for entry in entries:
        if host is None or entry.host == host:
            changes.append((entry.seen_at, 1))
            if entry.ended_at is not None:
                changes.append((entry.ended_at, -1))
    most = running = 0
    for _, change in sorted(changes):
        running += change
        most = max(most, running)
    return most
