"""What a hostile scraper would try. Each attempt's outcome is "done" or the reason of its end."""

import contextlib
import ctypes
import fcntl
import mmap
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
_NULL = ctypes.c_void_p(0)
_X86 = os.uname().machine == "x86_64"
_PTRACE_ATTACH, _NEWUSER, _NEWNET, _NEWNS = 16, 0x10000000, 0x40000000, 0x20000
_TIOCSTI, _TCP_PORT = 0x5412, 2


def attempts(targets: Mapping[str, Any]) -> dict[str, str]:
    tried = {**_reading(targets), **_signals(targets), **_processes(targets), **_kernel(targets),
             **_changes(targets)}  # fmt: skip
    return {name: _outcome(attempt) for name, attempt in tried.items()}


def _outcome(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as error:
        return type(error).__name__ if error.errno is None else os.strerror(error.errno)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def _c(name: str, *arguments: object) -> Callable[[], int]:
    """A call of the C library, which raises nothing by itself."""

    def call() -> int:
        result: int = getattr(_LIBC, name)(*arguments)
        if result == -1:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        return result

    return call


def _by_number(x86: int, arm: int, *arguments: object) -> Callable[[], int]:
    return _c("syscall", x86 if _X86 else arm, *arguments)


def _reading(targets: Mapping[str, Any]) -> dict[str, Callable[[], object]]:
    worker = Path("/proc") / str(targets["worker"])

    def find_secret() -> None:
        if not [name for name, value in os.environ.items() if targets["word"] in value]:
            raise PermissionError("the environment has no secret")

    return {
        "read the worker's environment": (worker / "environ").read_bytes,
        "read the worker's memory": (worker / "mem").open,
        "read the worker's command line": (worker / "cmdline").read_bytes,
        "read /etc/shadow": Path("/etc/shadow").read_bytes,
        "read /etc/passwd": Path("/etc/passwd").read_bytes,
        "read the database": Path(targets["database"]).read_bytes,
        "read the settings": Path(targets["settings"]).read_bytes,
        "read a file elsewhere": Path(targets["elsewhere"]).read_bytes,
        "list the processes": lambda: list(Path("/proc").iterdir()),
        "list the root folder": lambda: list(Path("/").iterdir()),
        "find a secret in the environment": find_secret,
    }


def _signals(targets: Mapping[str, Any]) -> dict[str, Callable[[], object]]:
    victim, worker = targets["victim"], targets["worker"]

    def by_descriptor() -> None:
        signal.pidfd_send_signal(os.pidfd_open(victim), signal.SIGKILL)

    def by_owner() -> None:
        reading, _writing = os.pipe()
        fcntl.fcntl(reading, fcntl.F_SETOWN, victim)

    return {
        "kill a process": lambda: os.kill(victim, signal.SIGKILL),
        "stop a process": lambda: os.kill(victim, signal.SIGSTOP),
        "kill a process group": lambda: os.killpg(victim, signal.SIGKILL),
        "kill a thread": _by_number(200, 130, victim, 9),
        "kill a thread of a group": _c("tgkill", victim, victim, 9),
        "queue a signal": _c("sigqueue", victim, 9, _NULL),
        "kill by a descriptor": by_descriptor,
        "own a pipe for another": by_owner,
        "signal all processes": lambda: os.kill(-1, 0),
        "signal the worker": lambda: os.kill(worker, 0),
        "signal the parent": lambda: os.kill(os.getppid(), 0),
        "kill the worker": lambda: os.kill(worker, signal.SIGKILL),
    }


def _processes(targets: Mapping[str, Any]) -> dict[str, Callable[[], object]]:
    victim = targets["victim"]
    here, there = ctypes.create_string_buffer(16), (ctypes.c_void_p * 2)(id(None), 8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(here), 8)
    return {
        "trace a process": _c("ptrace", _PTRACE_ATTACH, victim, _NULL, _NULL),
        "read a process's memory": _c("process_vm_readv", victim, local, 1, there, 1, 0),
        "write a process's memory": _c("process_vm_writev", victim, local, 1, there, 1, 0),
        "open a process": lambda: os.pidfd_open(victim),
        "run a program": lambda: subprocess.run(["true"], check=True),
        "become a program": lambda: os.execv("/bin/true", ["true"]),
        "slow down a process": lambda: os.setpriority(os.PRIO_PROCESS, victim, 19),
        "leave the process group": os.setsid,
        "outlive the parent": _c("prctl", 1, 0, 0, 0, 0),
        "share memory": _c("shmget", 0, 4_096, 0o600),
        "gain capabilities": _has_capabilities,
    }


def _has_capabilities() -> None:
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _c("capget", header, data)()
    if not any(data):
        raise PermissionError("there are none")


def _kernel(targets: Mapping[str, Any]) -> dict[str, Callable[[], object]]:
    buffer = ctypes.create_string_buffer(128)
    return {
        "unshare the user": _c("unshare", _NEWUSER),
        "unshare the network": _c("unshare", _NEWNET),
        "unshare the mounts": _c("unshare", _NEWNS),
        "clone into a namespace": lambda: _clone(_NEWUSER),
        "enter a namespace": _c("setns", 0, 0),
        "ask for a keyring": _by_number(250, 219, 0, -3, 0),
        "add a key": _by_number(248, 217, b"user", b"a", b"b", 1, -2),
        "request a key": _by_number(249, 218, b"user", b"a", _NULL, -2),
        "load a program into the kernel": _by_number(321, 280, 0, buffer, 128),
        "watch performance": _by_number(298, 241, buffer, 0, -1, -1, 0),
        "handle page faults": _by_number(323, 282, 1),
        "set up io_uring": _by_number(425, 425, 1, buffer),
        "mount": _c("mount", b"none", targets["folder"].encode(), b"tmpfs", 0, _NULL),
        "unmount": _c("umount2", targets["folder"].encode(), 0),
        "open a tree": _by_number(428, 428, -100, b"/", 0),
        "open by a handle": _by_number(304, 265, -100, buffer, 0),
        "name a handle": _by_number(303, 264, -100, b"/", buffer, buffer, 0),
        "load a module": _by_number(175, 105, buffer, 0, b""),
        "change the root": lambda: os.chroot(targets["folder"]),
        "make an anonymous file": lambda: os.memfd_create("x"),
        "type on the terminal": lambda: fcntl.ioctl(os.pipe()[0], _TIOCSTI, b"x"),
        "call what nobody knows": _by_number(471, 471),
        "connect": lambda: socket.create_connection(tuple(targets["server"]), 1),
        "make a socket by C": _c("socket", socket.AF_INET, socket.SOCK_STREAM, 0),
        "make a pair of sockets": socket.socketpair,
    }


def _clone(flags: int) -> None:
    made = _by_number(56, 220, flags | signal.SIGCHLD, 0, 0, 0, 0)()
    if not made:
        os._exit(0)


def _changes(targets: Mapping[str, Any]) -> dict[str, Callable[[], object]]:
    database, new = targets["database"], str(Path(targets["folder"]) / "new")
    return {
        "write a file": lambda: Path(new).write_text("x"),
        "write a file by C": _c("open", new.encode(), os.O_CREAT | os.O_WRONLY, 0o600),
        "write the database": lambda: os.open(database, os.O_RDWR),
        "remove the database": _c("unlink", database.encode()),
        "rename the database": _c("rename", database.encode(), new.encode()),
        "lock the database": lambda: _lease(database),
    }


def _lease(file: str) -> None:
    """Others would have to wait for the file."""
    with contextlib.closing(mmap.mmap(-1, 4_096)):
        fcntl.fcntl(os.open(__file__, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
