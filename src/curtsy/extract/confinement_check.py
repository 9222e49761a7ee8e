"""`python -m curtsy.extract.confinement_check`: what a scraper's process cannot do on this machine.

A confined process tries each thing, so that the answer does not rest on what should hold.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from curtsy.extract.capabilities import has_capabilities
from curtsy.extract.confinement import (
    allowed_environment,
    confine,
    die_with_parent,
    make_undumpable,
)
from curtsy.extract.landlock import landlock_version
from curtsy.extract.readable_paths import readable

_SECONDS = 60.0
_MEMORY_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Confinement:
    """Each field: whether the kernel refuses it."""

    network: bool = False
    file_changes: bool = False
    reading: bool = False
    """Of files other than code."""
    processes: bool = False
    signals: bool = False
    inspection: bool = False
    """Of the environment and memory of other processes."""
    namespaces: bool = False
    capabilities: bool = False


@dataclass(frozen=True, slots=True)
class MachineConfinement:
    refused: Confinement
    landlock: int
    """The version of Landlock; 0: none."""
    root: bool


def check_confinement() -> MachineConfinement:
    """Blocks while another process tries. If it fails, nothing counts as refused."""
    make_undumpable()
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "curtsy.extract.confinement_check"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=allowed_environment(os.environ), timeout=_SECONDS, check=False,
        )  # fmt: skip
        refused = Confinement(**orjson.loads(ended.stdout))
    except (subprocess.TimeoutExpired, orjson.JSONDecodeError):
        refused = Confinement()
    return MachineConfinement(refused, landlock_version(), os.geteuid() == 0)


def _try_all() -> None:
    die_with_parent()
    parent = os.getppid()
    confine(readable(()), memory_bytes=_MEMORY_BYTES)
    libc = ctypes.CDLL(None, use_errno=True)
    attempts: dict[str, Callable[[], object]] = {
        "network": lambda: _raise_if(libc.socket(2, 1, 0)),
        "file_changes": lambda: _raise_if(libc.mkdir(b"/dev/null/x", 0o700)),
        "reading": lambda: os.close(os.open("/etc/passwd", os.O_RDONLY)),
        "processes": _fork,
        "signals": lambda: os.kill(parent, 0),
        "inspection": lambda: _inspect(parent),
        "namespaces": lambda: _raise_if(libc.unshare(0)),
        "capabilities": _need_capabilities,
    }
    found = {name: _is_refused(attempt) for name, attempt in attempts.items()}
    os.write(1, orjson.dumps(found))


def _is_refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _raise_if(result: int) -> None:
    if result == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _inspect(process: int) -> None:
    try:
        os.close(os.open(f"/proc/{process}/environ", os.O_RDONLY))
    except FileNotFoundError:  # it exists, but /proc hides it
        raise PermissionError from None


def _fork() -> None:
    if not os.fork():
        os._exit(0)


def _need_capabilities() -> None:
    if not has_capabilities():
        raise PermissionError


if __name__ == "__main__":
    _try_all()
