"""What root may do more than others: a child of root keeps of it that it can read its own files."""

import ctypes
import os

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
