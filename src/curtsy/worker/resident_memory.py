"""The memory of a worker: of its own process, and of the processes that run its scrapers.

The kernel divides shared pages only for a process that may be inspected (`smaps_rollup`), and
scrapers' processes may not: they hide their memory. So a process that was forked counts only with
what it has beyond its parent, which `statm` shows to everyone.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(servers: Sequence[int] = ()) -> int | None:
    """The resident memory of this process with its fork servers and their children, whose shared
    pages are counted once. None: this system does not tell."""
    if sys.platform != "linux":
        return None
    own, _ = _resident(os.getpid())
    return own + sum(map(_of_family, servers))


def _of_family(server: int) -> int:
    """The memory of a fork server, and of each of its children what it has beyond the server."""
    resident, anonymous = _resident(server)
    return resident + sum(max(0, _resident(child)[1] - anonymous) for child in _children(server))


def _resident(pid: int) -> tuple[int, int]:
    """The bytes that are in memory, and those of them that no file backs; 0 for a process that has
    ended."""
    try:
        _, resident, of_files, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except (OSError, ValueError):
        return 0, 0
    return int(resident) * _PAGE_BYTES, (int(resident) - int(of_files)) * _PAGE_BYTES


def _children(pid: int) -> Iterator[int]:
    """Asks the kernel, since a fork server that has imported code of others may say anything."""
    try:
        yield from map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    except OSError:
        return
