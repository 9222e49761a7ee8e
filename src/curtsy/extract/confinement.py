"""Confines a process before it handles untrusted pages or imports untrusted code: it may only
compute, within limits.

Sockets and file changes are refused twice: by an audit hook, which sees Python's calls, and by the
kernel, which sees those of C libraries too. The channel to the parent stays open.
"""

import ctypes
import os
import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curtsy.extract.seccomp import CHANGES, forbid_changing_files, forbid_processes, forbid_sockets

NICENESS = 10
"""The worker's event loop has priority: request spacing depends on it."""

_SECRETS = ("CURTSY_", "DATABASE_URL", "REDIS_", "PASSWORD", "SECRET", "TOKEN", "KEY", "CREDENTIAL")
"""Parts of the names of environment variables that may hold credentials or addresses of data."""
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _SIGKILL = 1, 4, 9
_FILE_CHANGE_EVENTS = frozenset({
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.utime", "os.setxattr", "os.removexattr",
})  # fmt: skip


def confine(*, memory_bytes: int, no_processes: bool = False) -> None:
    """Confines this process irrevocably. `no_processes` also forbids starting processes."""
    os.nice(NICENESS)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_AS, _address_space() + memory_bytes)
    forbid_network()
    forbid_file_changes()
    sys.addaudithook(_refuse)
    if sys.platform == "linux":
        drop_capabilities()
        if no_processes:
            forbid_processes()


def forbid_network() -> None:
    """Forbids new sockets, by the kernel alone. Open sockets stay usable."""
    if sys.platform == "linux":
        forbid_sockets()


def forbid_file_changes() -> None:
    """Forbids file changes, by the kernel alone. Imports write no bytecode either."""
    sys.dont_write_bytecode = True
    if sys.platform == "linux":
        forbid_changing_files()


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment for a process that imports code of others."""
    return {
        name: value
        for name, value in environment.items()
        if not any(word in name.upper() for word in _SECRETS)
    }


def make_undumpable() -> None:
    """Hides this process's environment and memory from other processes of the same user.

    Root can still read them, but a confined child of root cannot.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def _address_space() -> int:
    """Returns the current size: memory from before the fork does not count against the page."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith("socket."):
        raise PermissionError("a scraper may not use the network")
    if event in _FILE_CHANGE_EVENTS or (event == "open" and _changes(*arguments)):
        raise PermissionError("a scraper may not change files")


def _changes(path: Any, _mode: Any, flags: int) -> bool:
    """Files that are already open (`path` is their number) stay usable."""
    return not isinstance(path, int) and bool(flags & CHANGES)


_VERSION = 0x20080522
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2
_RETAINED = 1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH
"""Needed by root to import the program from another user's folder."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def drop_capabilities() -> None:
    """Drops capabilities, above all the one to read other processes' memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = _Header(_VERSION, 0), (_Data * 2)()
    if libc.capget(ctypes.byref(header), data):
        _fail()
    for number, part in enumerate(data):
        retained = _RETAINED if number == 0 else 0
        part.effective &= retained
        part.permitted &= retained
        part.inheritable = 0
    if libc.capset(ctypes.byref(header), data):
        _fail()


def _fail() -> None:
    error = ctypes.get_errno()
    raise OSError(error, os.strerror(error), "capabilities")
