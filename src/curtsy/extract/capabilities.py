"""Drops the capabilities of root, of which confined processes need none."""

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

_VERSION = 0x20080522
_DAC_READ_SEARCH = 2
_PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 24, 47, 4
_MOST = 64


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def drop_capabilities(needed: Iterable[Path] = ()) -> None:
    """Drops all capabilities of this process.

    If root has no right to one of the `needed` paths, for example to a program in another user's
    home, the capability to read any file stays.
    """
    libc = ctypes.CDLL(None)
    for number in range(_MOST):  # fails where there is no such capability, or none to drop
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _set_capabilities(effective=0, permitted=None)
    unreadable = [path for path in needed if not _can_open(path)]
    retained = 1 << _DAC_READ_SEARCH if unreadable else 0
    _set_capabilities(effective=retained, permitted=retained)


def has_capabilities() -> bool:
    return any(part.effective or part.permitted for part in _capabilities()[1])


def _can_open(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except PermissionError:
        return False
    except OSError:
        return True  # it does not exist: no capability helps
    return True


def _set_capabilities(*, effective: int, permitted: int | None) -> None:
    """Keeps at most these of the first 32 capabilities; None: the permitted ones stay."""
    header, data = _capabilities()
    for number, part in enumerate(data):
        first = number == 0
        if permitted is not None:
            part.permitted &= permitted if first else 0
        part.effective = part.permitted & (effective if first else 0)
        part.inheritable = 0
    if ctypes.CDLL(None, use_errno=True).capset(ctypes.byref(header), data):
        _fail()


def _capabilities() -> tuple[_Header, ctypes.Array[_Data]]:
    header, data = _Header(_VERSION, 0), (_Data * 2)()
    if ctypes.CDLL(None, use_errno=True).capget(ctypes.byref(header), data):
        _fail()
    return header, data


def _fail() -> None:
    error = ctypes.get_errno()
    raise OSError(error, os.strerror(error), "capabilities")
