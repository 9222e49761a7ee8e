"""What a child may do before it reads a page of a stranger: compute, within limits.

Sockets, and whatever changes files, are refused twice: by an audit hook, which sees what Python
does, and by the kernel, which sees what C libraries do too. The channel to the parent is open
already.
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
"""The worker's loop goes first: it keeps the promises about time."""

_SECRETS = ("CURTSY_", "DATABASE_URL", "REDIS_", "PASSWORD", "SECRET", "TOKEN", "KEY", "CREDENTIAL")
"""What is in the names of variables that tell where data is, and how to get there."""
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _SIGKILL = 1, 4, 9
_CHANGING_FILES = frozenset({
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.utime", "os.setxattr", "os.removexattr",
})  # fmt: skip


def confine(*, memory_bytes: int, alone: bool = False) -> None:
    """From here on. Nothing of it can be taken back. `alone`: it makes no processes either."""
    os.nice(NICENESS)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_AS, _address_space() + memory_bytes)
    without_network()
    without_changing_files()
    sys.addaudithook(_refuse)
    if sys.platform == "linux":
        drop_capabilities()
        if alone:
            forbid_processes()


def without_network() -> None:
    """By the kernel alone: sockets that are open stay so."""
    if sys.platform == "linux":
        forbid_sockets()


def without_changing_files() -> None:
    """Likewise. Modules that are imported leave nothing behind, either."""
    sys.dont_write_bytecode = True
    if sys.platform == "linux":
        forbid_changing_files()


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """For processes that import what others wrote."""
    return {
        name: value
        for name, value in environment.items()
        if not any(word in name.upper() for word in _SECRETS)
    }


def keep_to_oneself() -> None:
    """No other process of the same user reads this one's environment and memory; root still may,
    but no child that was confined."""
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
    """Of this process as it is: what it was born with does not count against the page."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith("socket."):
        raise PermissionError("a scraper has no network")
    if event in _CHANGING_FILES or (event == "open" and _changes(*arguments)):
        raise PermissionError("a scraper changes no files")


def _changes(path: Any, _mode: Any, flags: int) -> bool:
    """What is open already, and so named by its number, stays as it is."""
    return not isinstance(path, int) and bool(flags & CHANGES)


_VERSION = 0x20080522
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2
_KEPT = 1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH
"""The program may lie in the folder of a user: with these root can still import it."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def drop_capabilities() -> None:
    """Above all that of looking into other processes. Who has none loses none."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = _Header(_VERSION, 0), (_Data * 2)()
    if libc.capget(ctypes.byref(header), data):
        _fail()
    for number, part in enumerate(data):
        kept = _KEPT if number == 0 else 0
        part.effective &= kept
        part.permitted &= kept
        part.inheritable = 0
    if libc.capset(ctypes.byref(header), data):
        _fail()


def _fail() -> None:
    error = ctypes.get_errno()
    raise OSError(error, os.strerror(error), "capabilities")
