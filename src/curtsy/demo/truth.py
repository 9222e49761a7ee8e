"""What really happened, as the site saw it: the access log and questions to it. Pure.

The log is JSON, one record to a line, of two kinds. When the head of a request is complete, with
the instant at which it reached the machine (by the kernel's account, late by 8 ms at most):

    {"n": 7, "at": 81236549871234, "host": "127.0.1.3", "path": "/page/1", "port": 51234}

and when its answer has ended:

    {"end": 7, "at": 81236549990001, "status": 200}

`n` counts the requests of one site from 1, over all its hosts. `at` is CLOCK_MONOTONIC in
nanoseconds: one clock for all hosts and for every process of the machine. `path` is the target as
asked, with its query; `port` is the client's. An answer has ended when its last byte is given to
the system; `status` is null when the connection ended first: dropped by the site (`/reset/`), or
left by a client that hung up or was killed. What is no request at all (answered 400 or 431) is not
in the log.
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
    host: str
    path: str
    port: int
    ended_at: int | None
    """None while it is being answered."""
    status: int | None
    """None until it has ended, and when the connection ended before the answer did."""


def parse(log: bytes) -> list[Entry]:
    """The entries of a log; a last line that is still being written is left out."""
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
    """Starts with their ends, in the order of their start."""
    end_of = {end.end: end for end in ends}
    entries = []
    for start in starts:
        end = end_of.get(start.n)
        ended_at, status = (None, None) if end is None else (end.at, end.status)
        entries.append(
            Entry(start.n, start.at, start.host, start.path, start.port, ended_at, status)
        )
    return sorted(entries, key=lambda entry: (entry.at, entry.n))


def smallest_gap(entries: Iterable[Entry], host: str) -> float | None:
    """The shortest time between two starts at this host, in seconds; None below two requests."""
    return smallest_gaps(entries).get(host)


def smallest_gaps(entries: Iterable[Entry]) -> dict[str, float]:
    """The smallest gap of every host that was asked at least twice."""
    starts: dict[str, list[int]] = defaultdict(list)
    for entry in entries:
        starts[entry.host].append(entry.at)
    return {
        host: min(after - before for before, after in pairwise(sorted(instants))) / NANOSECONDS
        for host, instants in starts.items()
        if len(instants) > 1
    }


def counts(entries: Iterable[Entry]) -> Counter[tuple[str, str]]:
    """How often each path of each host was asked."""
    return Counter((entry.host, entry.path) for entry in entries)


def most_at_once(entries: Iterable[Entry], host: str | None = None) -> int:
    """The most requests that were in progress together, at one host or at all of them.

    One that has not ended counts as in progress from its start on.
    """
    changes: list[tuple[int, int]] = []
    for entry in entries:
        if host is None or entry.host == host:
            changes.append((entry.at, 1))
            if entry.ended_at is not None:
                changes.append((entry.ended_at, -1))
    most = running = 0
    for _, change in sorted(changes):
        running += change
        most = max(most, running)
    return most
