"""What a child may do before it reads a page of a stranger: compute, within limits.

Sockets are refused twice: by an audit hook, which sees what Python does, and by the kernel, which
sees what C libraries do too. The channel to the parent is open already.
"""

import ctypes
import os
import platform
import resource
import struct
import sys
from pathlib import Path
from typing import Any

NICENESS = 10
"""The worker's loop goes first: it keeps the promises about time."""

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # operations of classic BPF
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001  # the latter with EPERM
_ARCHITECTURES = {
    # audit number, and of the calls that make sockets or get round them: socket, socketpair,
    # io_uring_setup, ptrace, process_vm_writev
    "x86_64": (0xC000003E, (41, 53, 425, 101, 311)),
    "aarch64": (0xC00000B7, (198, 199, 425, 117, 271)),
}


def confine(*, memory_bytes: int) -> None:
    """From here on. Nothing of it can be taken back."""
    os.nice(NICENESS)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_AS, _address_space() + memory_bytes)
    sys.addaudithook(_no_sockets)
    if sys.platform == "linux":
        _forbid_sockets()


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


def _no_sockets(event: str, _arguments: tuple[Any, ...]) -> None:
    if event.startswith("socket."):
        raise PermissionError("a scraper has no network")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _forbid_sockets() -> None:
    machine = _ARCHITECTURES.get(platform.machine())
    if machine is None:
        return
    audit_number, calls = machine

    def step(operation: int, if_true: int, if_false: int, value: int) -> bytes:
        return struct.pack("HBBI", operation, if_true, if_false, value)

    steps = [
        step(_LOAD, 0, 0, 4),  # the architecture: numbers of calls are its own
        step(_JUMP_IF_EQUAL, 1, 0, audit_number),
        step(_RETURN, 0, 0, _REFUSE),
        step(_LOAD, 0, 0, 0),  # the number of the call
    ]
    for left, call in zip(range(len(calls), 0, -1), calls, strict=True):
        steps.append(step(_JUMP_IF_EQUAL, left, 0, call))
    steps += [step(_RETURN, 0, 0, _ALLOW), step(_RETURN, 0, 0, _REFUSE)]
    program = _Program(len(steps), b"".join(steps))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "seccomp")
