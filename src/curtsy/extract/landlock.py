"""Landlock: the kernel lets a process read only named files and folders, and reach no process
outside of its own.

Version 1 came with Linux 5.13; what a later version adds is used where the kernel has it.
"""

import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # system calls, the same on every architecture
_ASK_VERSION, _PATH_BENEATH = 1, 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FIRST_RIGHTS = (1 << 13) - 1
"""Rights to files of version 1."""
_REFER, _TRUNCATE, _IOCTL_DEV = (2, 1 << 13), (3, 1 << 14), (5, 1 << 15)
_TCP = (4, 0b11)
_SCOPES = (6, 0b11)
"""No abstract UNIX sockets and no signals to processes outside."""


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def landlock_version() -> int:
    """Returns the version that the kernel offers; 0: it has none, or it is switched off."""
    version: int = ctypes.CDLL(None).syscall(_CREATE, None, 0, _ASK_VERSION)
    return max(version, 0)


def allow_reading_only(paths: Iterable[Path], *, listed: Iterable[Path] = ()) -> int:
    """Lets this process and its future children open nothing but these files, and what lies in
    these folders, for reading; of `listed` folders they see the names. What is open stays usable.
    Returns the version; 0: nothing changed.

    The process must not be able to gain privileges any more.
    """
    version = landlock_version()
    if not version:
        return 0
    known = _Ruleset(_FIRST_RIGHTS, 0, 0)
    for since, right in (_REFER, _TRUNCATE, _IOCTL_DEV):
        known.files |= right if version >= since else 0
    known.network = _TCP[1] if version >= _TCP[0] else 0
    known.scopes = _SCOPES[1] if version >= _SCOPES[0] else 0
    rules = _call(_CREATE, ctypes.byref(known), ctypes.sizeof(known), 0)
    try:
        for path in paths:
            _allow(rules, path, _READ_FILE | _READ_DIR)
        for folder in listed:
            _allow(rules, folder, _READ_DIR)
        _call(_RESTRICT, rules, 0)
    finally:
        os.close(rules)
    return version


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what cannot be opened needs no allowance
    try:
        is_folder = stat.S_ISDIR(os.fstat(file).st_mode)
        beneath = _Beneath(rights if is_folder else _READ_FILE, file)
        _call(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(beneath), 0)
    finally:
        os.close(file)


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result: int = libc.syscall(number, *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "landlock")
    return result
