"""System calls that the kernel refuses a confined process, as small classic BPF programs."""

import ctypes
import os
import struct
from collections.abc import Iterable, Sequence

from curtsy.extract.system_calls import FIRST_UNKNOWN, Architecture, this_architecture

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _NOT_PERMITTED, _NO_SUCH_CALL = 0x7FFF0000, 0x00050001, 0x00050026
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_ARGUMENT_BYTES = 8
_X32_NUMBERS = 0x40000000
"""From this number on, x86-64 repeats all its calls for the x32 ABI."""
_CLONE_THREAD = 0x10000
_CLONE_ELSEWHERE = 0x7E020000 | 0x8000 | 0x2000 | 0x800000
"""Flags of clone that make a namespace, a sibling, or a process beyond tracing."""
_TMPFILE = 0x400000
CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | _TMPFILE
"""Any of these flags opens a file for more than reading."""
_FCNTL_REFUSED = (8, 15, 1024)
"""F_SETOWN, F_SETOWN_EX choose the process that is signalled when a file becomes readable;
F_SETLEASE makes others wait for a file."""
_IOCTL_REFUSED = (0x8901, 0x8902, 0x5412, 0x541C)
"""FIOSETOWN, SIOCSPGRP as above for sockets; TIOCSTI, TIOCLINUX type on the terminal."""
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9

_NETWORK = ("socket", "socketpair", "connect", "bind", "listen", "accept", "accept4",
            "io_uring_setup", "io_uring_enter", "io_uring_register")  # fmt: skip
_FILE_CHANGES = (
    "creat", "truncate", "ftruncate", "fallocate", "link", "linkat", "symlink", "symlinkat",
    "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "mknod",
    "mknodat", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
    "utime", "utimes", "utimensat", "futimesat", "setxattr", "lsetxattr", "fsetxattr",
    "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr",
    "memfd_create", "memfd_secret",
)  # fmt: skip
_OTHER_PROCESSES = (
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_open", "pidfd_getfd",
    "pidfd_send_signal", "process_madvise", "process_mrelease", "migrate_pages", "move_pages",
    "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "setpriority",
    "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr", "ioprio_set",
    "setpgid", "setsid",
)  # fmt: skip
_OTHER_PROGRAMS = ("execve", "execveat", "fork", "vfork", "uselib")
"""The C library forks with clone."""
_SHARED_OBJECTS = ("shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget",
                   "semop", "semtimedop", "semctl", "mq_open", "mq_unlink")  # fmt: skip
_MACHINE = (
    "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr",
    "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "statmount",
    "listmount", "name_to_handle_at", "open_by_handle_at", "add_key", "request_key", "keyctl",
    "bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load", "init_module",
    "finit_module", "delete_module", "reboot", "swapon", "swapoff", "acct", "quotactl",
    "quotactl_fd", "syslog", "sethostname", "setdomainname", "settimeofday", "clock_settime",
    "adjtimex", "clock_adjtime", "vhangup", "lookup_dcookie", "nfsservctl", "fanotify_init",
    "fanotify_mark", "personality", "iopl", "ioperm", "modify_ldt",
)  # fmt: skip
"""Calls that change or watch the machine, or leave the process's namespaces."""
REFUSED = (*_NETWORK, *_FILE_CHANGES, *_OTHER_PROCESSES, *_OTHER_PROGRAMS, *_SHARED_OBJECTS,
           *_MACHINE)  # fmt: skip


def forbid_all_but_forking() -> bool:
    """Lets this process and its future children compute, read files, use what is open, and fork.

    Returns False on an architecture whose calls are not known: then nothing is forbidden.
    """
    if (machine := this_architecture()) is None:
        return False
    steps = [_step(_AT_LEAST, 0, 1, FIRST_UNKNOWN), _step(_RETURN, 0, 0, _NO_SUCH_CALL)]
    steps += _refused(machine.of(REFUSED))
    # openat2 and clone3 have their flags in memory, where a filter cannot see them; the C library
    # falls back to the older calls.
    for call in machine.of(("openat2", "clone3")):
        steps += _no_such_call(call)
    for name, place in (("open", 1), ("openat", 2)):
        for call in machine.of((name,)):
            steps += _decided(call, place, _ANY_BIT, CHANGES, _NOT_PERMITTED, _ALLOW)
    steps += _decided(
        machine.numbers["clone"], 0, _ANY_BIT, _CLONE_ELSEWHERE, _NOT_PERMITTED, _ALLOW
    )
    steps += _decided(machine.numbers["prlimit64"], 0, _EQUAL, 0, _ALLOW, _NOT_PERMITTED)
    steps += _without(machine.numbers["fcntl"], 1, _FCNTL_REFUSED)
    steps += _without(machine.numbers["ioctl"], 1, _IOCTL_REFUSED)
    steps += _dies_with_parent(machine.numbers["prctl"])
    _install(machine, steps)
    return True


def forbid_processes() -> None:
    """Forbids new processes too. Threads are allowed."""
    if (machine := this_architecture()) is None:
        return
    clone = machine.numbers["clone"]
    _install(machine, _decided(clone, 0, _ANY_BIT, _CLONE_THREAD, _ALLOW, _NOT_PERMITTED))


def forbid_new_privileges() -> None:
    """The kernel demands it of a process that installs a filter."""
    ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


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
        _load_argument(place),
        _step(test, 0, 1, value),
        _step(_RETURN, 0, 0, if_true),
        _step(_RETURN, 0, 0, if_false),
    ]


def _without(call: int, place: int, values: Sequence[int]) -> list[bytes]:
    """Allows the call unless that argument has one of these values."""
    steps = [_load_argument(place), *_refused(values), _step(_RETURN, 0, 0, _ALLOW)]
    return [_step(_EQUAL, 0, len(steps), call), *steps]


def _dies_with_parent(prctl: int) -> list[bytes]:
    """Refuses to unset the signal that ends a process together with its parent."""
    steps = [
        _load_argument(0),
        _step(_EQUAL, 1, 0, _PR_SET_PDEATHSIG),
        _step(_RETURN, 0, 0, _ALLOW),
        _load_argument(1),
        _step(_EQUAL, 0, 1, _SIGKILL),
        _step(_RETURN, 0, 0, _ALLOW),
        _step(_RETURN, 0, 0, _NOT_PERMITTED),
    ]
    return [_step(_EQUAL, 0, len(steps), prctl), *steps]


def _load_argument(place: int) -> bytes:
    return _step(_LOAD, 0, 0, _FIRST_ARGUMENT + place * _ARGUMENT_BYTES)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _install(machine: Architecture, rules: list[bytes]) -> None:
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
    forbid_new_privileges()
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "seccomp")
