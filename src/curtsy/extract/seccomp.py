"""What the kernel refuses a child: small programs of classic BPF that see every system call."""

import ctypes
import os
import platform
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _NOT_PERMITTED, _NO_SUCH_CALL = 0x7FFF0000, 0x00050001, 0x00050026
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # places in what the program is shown
_ARGUMENT_BYTES = 8
_OTHER_NUMBERS = 0x40000000
"""From here on x86-64 has all its calls once more, for programs of another kind."""
_CLONE_THREAD = 0x10000
_TMPFILE = 0x400000
CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | _TMPFILE
"""With any of these a file is not only read."""
_OWNERS = (8, 15)
"""F_SETOWN, F_SETOWN_EX: who is sent a signal, of any kind, when there is something to read."""
_OWNERS_OF_SOCKETS = (0x8901, 0x8902)
"""FIOSETOWN, SIOCSPGRP: likewise."""


@dataclass(frozen=True, slots=True)
class _Machine:
    audit_number: int
    sockets: tuple[int, ...]
    """Calls that make sockets or get round them: socket, socketpair, io_uring_setup, ptrace,
    process_vm_writev."""
    processes: tuple[int, ...]
    """fork, vfork, execve, execveat, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo,
    pidfd_send_signal."""
    clone: int
    signals: tuple[int, ...]
    """kill, tgkill: to oneself alone."""
    owning: tuple[int, int]
    """fcntl, ioctl: not to make others the owners of files."""
    limits: int
    """prlimit64: of oneself alone."""
    standing: tuple[int, ...]
    """setpriority, sched_setaffinity, sched_setscheduler, sched_setparam, sched_setattr,
    ioprio_set: what a process gets of the machine, also another one."""
    lasting: tuple[int, ...]
    """shmget, msgget, semget, mq_open: memory that stays when its maker is gone."""
    opening: tuple[tuple[int, int], ...]
    """open and openat, each with the place of its flags among the arguments."""
    files: tuple[int, ...]
    """Calls that change files, or what is known of them, or that take what is another process's:
    creat, truncate, ftruncate, fallocate, link, symlink, rename, unlink, mkdir, rmdir, mknod,
    chmod, chown, utime, setxattr and removexattr in all their forms; mount, umount, pivot_root,
    chroot, swapon, swapoff, acct; open_by_handle_at, process_vm_readv, pidfd_getfd."""
    clone3: int = 435
    openat2: int = 437


_NEW_FILES = (452, 463, 466, 438)
"""fchmodat2, setxattrat, removexattrat, pidfd_getfd: new calls have one number everywhere."""
_MACHINES = {
    "x86_64": _Machine(
        0xC000003E, (41, 53, 425, 101, 311), (57, 58, 59, 322, 200, 129, 297, 424), 56, (62, 234),
        owning=(72, 16), limits=302, standing=(141, 203, 144, 142, 314, 251),
        lasting=(29, 68, 64, 240), opening=((2, 1), (257, 2)),
        files=(
            85, 76, 77, 285, 86, 265, 88, 266, 82, 264, 316, 87, 263, 83, 258, 84, 133, 259, 90, 91,
            268, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199, 165, 166, 155,
            161, 167, 168, 163, 304, 310, *_NEW_FILES,
        ),
    ),
    "aarch64": _Machine(
        0xC00000B7, (198, 199, 425, 117, 271), (221, 281, 130, 138, 240, 424), 220, (129, 131),
        owning=(25, 29), limits=261, standing=(140, 122, 119, 118, 274, 30),
        lasting=(194, 186, 190, 180), opening=((56, 2),),
        files=(
            45, 46, 47, 37, 36, 38, 276, 35, 34, 33, 52, 53, 54, 55, 88, 5, 6, 7, 14, 15, 16, 40,
            39, 41, 51, 224, 225, 89, 265, 270, *_NEW_FILES,
        ),
    ),
}  # fmt: skip


def forbid_sockets() -> None:
    """From here on, in this process and those that it makes."""
    if (machine := _MACHINES.get(platform.machine())) is not None:
        _install(machine, _refused(machine.sockets))


def forbid_changing_files() -> None:
    """None is made, written, renamed, removed or marked; what is open stays as it is."""
    if (machine := _MACHINES.get(platform.machine())) is None:
        return
    steps = _refused(machine.files)
    # what it is told stands in memory, where it cannot be seen; the C library takes the older one
    steps += _no_such_call(machine.openat2)
    for call, place in machine.opening:
        steps += _decided(call, place, _ANY_BIT, CHANGES, _NOT_PERMITTED, _ALLOW)
    _install(machine, steps)


def forbid_processes() -> None:
    """No new ones, nothing that is felt by others, and nothing that stays behind; threads are
    allowed."""
    if (machine := _MACHINES.get(platform.machine())) is None:
        return
    steps = _refused((*machine.processes, *machine.standing, *machine.lasting))
    steps += _no_such_call(machine.clone3)  # likewise
    steps += _decided(machine.clone, 0, _ANY_BIT, _CLONE_THREAD, _ALLOW, _NOT_PERMITTED)
    for call in machine.signals:
        steps += _decided(call, 0, _EQUAL, os.getpid(), _ALLOW, _NOT_PERMITTED)
    steps += _decided(machine.limits, 0, _EQUAL, 0, _ALLOW, _NOT_PERMITTED)
    for call, owners in zip(machine.owning, (_OWNERS, _OWNERS_OF_SOCKETS), strict=True):
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
    """By a test of one of the call's arguments."""
    return [
        _step(_EQUAL, 0, 4, call),
        _step(_LOAD, 0, 0, _FIRST_ARGUMENT + place * _ARGUMENT_BYTES),
        _step(test, 0, 1, value),
        _step(_RETURN, 0, 0, if_true),
        _step(_RETURN, 0, 0, if_false),
    ]


def _without(call: int, place: int, values: Sequence[int]) -> list[bytes]:
    """The call is allowed, but not with one of these as that argument."""
    steps = [_step(_LOAD, 0, 0, _FIRST_ARGUMENT + place * _ARGUMENT_BYTES), *_refused(values),
             _step(_RETURN, 0, 0, _ALLOW)]  # fmt: skip
    return [_step(_EQUAL, 0, len(steps), call), *steps]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _install(machine: _Machine, rules: list[bytes]) -> None:
    steps = [
        _step(_LOAD, 0, 0, _ARCHITECTURE),  # numbers of calls are its own
        _step(_EQUAL, 1, 0, machine.audit_number),
        _step(_RETURN, 0, 0, _NOT_PERMITTED),
        _step(_LOAD, 0, 0, _NUMBER),
        _step(_AT_LEAST, 0, 1, _OTHER_NUMBERS),
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
