"""System calls that the kernel refuses a confined process, as small classic BPF programs."""

import ctypes
import os
import platform
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _NOT_PERMITTED, _NO_SUCH_CALL = 0x7FFF0000, 0x00050001, 0x00050026
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_ARGUMENT_BYTES = 8
_X32_NUMBERS = 0x40000000
"""From this number on, x86-64 repeats all its calls for the x32 ABI."""
_CLONE_THREAD = 0x10000
_TMPFILE = 0x400000
CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | _TMPFILE
"""Any of these flags opens a file for more than reading."""
_SET_OWNER = (8, 15)
"""F_SETOWN, F_SETOWN_EX: choose the process that is signalled when a file becomes readable."""
_SET_SOCKET_OWNER = (0x8901, 0x8902)
"""FIOSETOWN, SIOCSPGRP: the same for sockets."""


@dataclass(frozen=True, slots=True)
class _Machine:
    audit_number: int
    sockets: tuple[int, ...]
    """Calls that create sockets or circumvent this filter: socket, socketpair, io_uring_setup,
    ptrace, process_vm_writev."""
    processes: tuple[int, ...]
    """fork, vfork, execve, execveat, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo,
    pidfd_send_signal."""
    clone: int
    signals: tuple[int, ...]
    """kill, tgkill: allowed to the process itself only."""
    owning: tuple[int, int]
    """fcntl, ioctl: allowed, except to set the owner of a file or socket."""
    limits: int
    """prlimit64: allowed for the process itself only."""
    scheduling: tuple[int, ...]
    """setpriority, sched_setaffinity, sched_setscheduler, sched_setparam, sched_setattr,
    ioprio_set: they could also change other processes."""
    lasting: tuple[int, ...]
    """shmget, msgget, semget, mq_open: they create memory that outlives the process."""
    opening: tuple[tuple[int, int], ...]
    """open and openat, each with the position of the flags among its arguments."""
    files: tuple[int, ...]
    """Calls that change files, their metadata or mounts, or that reach into other processes:
    creat, truncate, ftruncate, fallocate, link, symlink, rename, unlink, mkdir, rmdir, mknod,
    chmod, chown, utime, setxattr and removexattr in all their forms; mount, umount, pivot_root,
    chroot, swapon, swapoff, acct; open_by_handle_at, process_vm_readv, pidfd_getfd."""
    clone3: int = 435
    openat2: int = 437


_NEW_FILES = (452, 463, 466, 438)
"""fchmodat2, setxattrat, removexattrat, pidfd_getfd: new calls have the same number on every
architecture."""
_MACHINES = {
    "x86_64": _Machine(
        0xC000003E, (41, 53, 425, 101, 311), (57, 58, 59, 322, 200, 129, 297, 424), 56, (62, 234),
        owning=(72, 16), limits=302, scheduling=(141, 203, 144, 142, 314, 251),
        lasting=(29, 68, 64, 240), opening=((2, 1), (257, 2)),
        files=(
            85, 76, 77, 285, 86, 265, 88, 266, 82, 264, 316, 87, 263, 83, 258, 84, 133, 259, 90, 91,
            268, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199, 165, 166, 155,
            161, 167, 168, 163, 304, 310, *_NEW_FILES,
        ),
    ),
    "aarch64": _Machine(
        0xC00000B7, (198, 199, 425, 117, 271), (221, 281, 130, 138, 240, 424), 220, (129, 131),
        owning=(25, 29), limits=261, scheduling=(140, 122, 119, 118, 274, 30),
        lasting=(194, 186, 190, 180), opening=((56, 2),),
        files=(
            45, 46, 47, 37, 36, 38, 276, 35, 34, 33, 52, 53, 54, 55, 88, 5, 6, 7, 14, 15, 16, 40,
            39, 41, 51, 224, 225, 89, 265, 270, *_NEW_FILES,
        ),
    ),
}  # fmt: skip


def forbid_sockets() -> None:
    """Applies to this process and its future children."""
    if (machine := _MACHINES.get(platform.machine())) is not None:
        _install(machine, _refused(machine.sockets))


def forbid_changing_files() -> None:
    """Forbids creating, writing, renaming, deleting files and changing their metadata. Files that
    are already open stay usable."""
    if (machine := _MACHINES.get(platform.machine())) is None:
        return
    steps = _refused(machine.files)
    # openat2 has its flags in memory, where a filter cannot see them; the C library falls back
    steps += _no_such_call(machine.openat2)
    for call, place in machine.opening:
        steps += _decided(call, place, _ANY_BIT, CHANGES, _NOT_PERMITTED, _ALLOW)
    _install(machine, steps)


def forbid_processes() -> None:
    """Forbids new processes, effects on other processes, and objects that outlive the process.
    Threads are allowed."""
    if (machine := _MACHINES.get(platform.machine())) is None:
        return
    steps = _refused((*machine.processes, *machine.scheduling, *machine.lasting))
    steps += _no_such_call(machine.clone3)  # its flags are in memory, as those of openat2
    steps += _decided(machine.clone, 0, _ANY_BIT, _CLONE_THREAD, _ALLOW, _NOT_PERMITTED)
    for call in machine.signals:
        steps += _decided(call, 0, _EQUAL, os.getpid(), _ALLOW, _NOT_PERMITTED)
    steps += _decided(machine.limits, 0, _EQUAL, 0, _ALLOW, _NOT_PERMITTED)
    for call, owners in zip(machine.owning, (_SET_OWNER, _SET_SOCKET_OWNER), strict=True):
        steps += _without(call, 1, owners)
    _install(machine, steps)


def _step(operation: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("HBBI", operation, if_true, if_false, value)


def _refused(calls: Iterable[int]) -> list[bytes]:
    steps: list[bytes] = []
    for call in calls:
        steps += [_step(_EQUAL, 0, 1, call), _step(_RETURN, 0, 0, _NOT_PERMITTED)]
    return steps


def _no_such_call(call: int) -> list[bytes]:
    return [_step(_EQUAL, 0, 1, call), _step(_RETURN, 0, 0, _NO_SUCH_CALL)]


def _decided(
    call: int, place: int, test: int, value: int, if_true: int, if_false: int
) -> list[bytes]:
    """Allows or refuses a call by a test of one of its arguments."""
    return [
        _step(_EQUAL, 0, 4, call),
        _step(_LOAD, 0, 0, _FIRST_ARGUMENT + place * _ARGUMENT_BYTES),
        _step(test, 0, 1, value),
        _step(_RETURN, 0, 0, if_true),
        _step(_RETURN, 0, 0, if_false),
    ]


def _without(call: int, place: int, values: Sequence[int]) -> list[bytes]:
    """Allows the call unless that argument has one of these values."""
    steps = [_step(_LOAD, 0, 0, _FIRST_ARGUMENT + place * _ARGUMENT_BYTES), *_refused(values),
             _step(_RETURN, 0, 0, _ALLOW)]  # fmt: skip
    return [_step(_EQUAL, 0, len(steps), call), *steps]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _install(machine: _Machine, rules: list[bytes]) -> None:
    steps = [
        _step(_LOAD, 0, 0, _ARCHITECTURE),  # call numbers differ between architectures
        _step(_EQUAL, 1, 0, machine.audit_number),
        _step(_RETURN, 0, 0, _NOT_PERMITTED),
        _step(_LOAD, 0, 0, _NUMBER),
        _step(_AT_LEAST, 0, 1, _X32_NUMBERS),
        _step(_RETURN, 0, 0, _NOT_PERMITTED),
        *rules,
        _step(_RETURN, 0, 0, _ALLOW),
    ]
    program = _Program(len(steps), b"".join(steps))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "seccomp")
