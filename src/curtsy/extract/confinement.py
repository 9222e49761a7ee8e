"""Confines a process before it handles untrusted pages or imports untrusted code: it may only
compute, within limits, and read code.

It happens in two steps. The first, before any code of others is imported, leaves a process that
may still fork; the second, in each child, takes that away and limits the memory. What the kernel
refuses, an audit hook refuses before with a sentence, where Python makes the call. The channel to
the parent stays open.
"""

import ctypes
import os
import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curtsy.extract.capabilities import drop_capabilities
from curtsy.extract.landlock import allow_reading_only
from curtsy.extract.readable_paths import Readable
from curtsy.extract.seccomp import (
    CHANGES,
    forbid_all_but_forking,
    forbid_new_privileges,
    forbid_processes,
)

NICENESS = 10
"""The worker's event loop has priority: request spacing depends on it."""

_ENVIRONMENT = frozenset({
    "PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TZDIR", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH",
    "PYTHONPATH", "PYTHONHOME", "PYTHONPLATLIBDIR", "PYTHONUSERBASE", "PYTHONNOUSERSITE",
    "PYTHONSAFEPATH", "PYTHONUTF8", "PYTHONCOERCECLOCALE", "PYTHONIOENCODING", "PYTHONHASHSEED",
    "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONOPTIMIZE", "PYTHONMALLOC",
    "MALLOC_ARENA_MAX", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
})  # fmt: skip
"""Environment variables that the interpreter and its libraries may need; none holds a secret."""
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _SIGKILL = 1, 4, 9
_FILE_CHANGE_EVENTS = frozenset({
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.utime", "os.setxattr", "os.removexattr",
})  # fmt: skip


def confine_before_import(readable: Readable) -> None:
    """Confines this process irrevocably, except that it may fork and use any memory.

    It must have one thread: the kernel confines threads one by one.
    """
    os.nice(NICENESS)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    sys.dont_write_bytecode = True
    make_undumpable()
    if sys.platform == "linux":
        _require_one_thread()
        forbid_new_privileges()
        allow_reading_only(readable.paths, listed=readable.listed)
        drop_capabilities(readable.needed)
        forbid_all_but_forking()


def confine_child(*, memory_bytes: int, address_space: int) -> None:
    """Takes the rest from a process that `confine_before_import` has confined."""
    _limit(resource.RLIMIT_AS, address_space + memory_bytes)
    sys.addaudithook(_refuse)
    if sys.platform == "linux":
        forbid_processes()


def confine(readable: Readable, *, memory_bytes: int) -> None:
    """Takes both steps at once. `memory_bytes` are allowed beyond what the process has."""
    address_space = AddressSpace().size()
    confine_before_import(readable)
    confine_child(memory_bytes=memory_bytes, address_space=address_space)


def allowed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment for a process that runs scrapers."""
    return {
        name: value
        for name, value in environment.items()
        if name in _ENVIRONMENT or name.startswith("LC_")
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


class AddressSpace:
    """The size of the process that made this. It can be read after the confinement too."""

    def __init__(self) -> None:
        self._file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def size(self) -> int:
        return int(os.pread(self._file, 256, 0).split()[0]) * resource.getpagesize()


def _require_one_thread() -> None:
    threads = [one.name for one in Path("/proc/self/task").iterdir()]
    if len(threads) != 1:
        raise RuntimeError(f"{len(threads)} threads run: the others would not be confined")


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith("socket."):
        raise PermissionError("a scraper may not use the network")
    if event in _FILE_CHANGE_EVENTS or (event == "open" and _changes(*arguments)):
        raise PermissionError("a scraper may not change files")


def _changes(path: Any, _mode: Any, flags: int) -> bool:
    """Files that are already open (`path` is their number) stay usable."""
    return not isinstance(path, int) and bool(flags & CHANGES)
