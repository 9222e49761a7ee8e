"""Runs a command as a container of docker-compose.yml would, as far as namespaces allow without an
engine: the files of this machine read-only, an empty /tmp, /data and home folders, the numbers of
the image's user, no capabilities, no new privileges, and the environment of the service alone.

Not as in a container are the network, the process ids and the limits of memory and processes:
those are this machine's. System calls are limited if a test names those that are allowed. Root is
needed.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import curtsy
from curtsy.extract import seccomp

USER = 10001
PROGRAM = Path(sys.prefix) / "bin/curtsy"
HERE = Path(__file__).resolve().parent
NEEDED = tuple(dict.fromkeys([sys.prefix, sys.base_prefix, str(Path(curtsy.__file__).parents[1]),
                              str(HERE)]))  # fmt: skip
"""What the image has inside: the interpreter, its packages and curtsy; and this module."""
SYSTEM = ("bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "opt", "proc", "sbin", "sys",
          "usr", "var")  # fmt: skip
"""Folders of this machine that a container has of its own; of the others it sees nothing."""
ROOT = Path("/tmp")
"""Where the root of the container is put together: on a file system in memory."""
_BIND, _REMOUNT, _READ_ONLY = 4096, 32, 1
_PRIVATE, _RECURSIVE = 1 << 18, 16384
_SET_MDWE = 65


def can_contain() -> bool:
    """Whether this machine lets the tests make mounts and become another user."""
    if os.geteuid() != 0 or not (shutil.which("unshare") and shutil.which("setpriv")):
        return False
    tried = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/tmp"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


@dataclass(frozen=True, slots=True)
class Container:
    environment: Mapping[str, str]
    data: Path | None = None
    """What is mounted at /data; None: the folder of the image, which is empty and read-only."""
    user: int = USER
    program: Sequence[str] = (str(PROGRAM),)
    hides_processes: bool = False
    """Whether /proc shows a process only those that it may inspect."""
    calls: Sequence[int] = ()
    """The numbers of the system calls that the kernel allows; empty: all."""

    def command(self, *arguments: str) -> list[str]:
        """Returns the command that runs `curtsy …` inside."""
        given = {
            "environment": dict(self.environment), "data": str(self.data) if self.data else None,
            "user": self.user, "hides_processes": self.hides_processes, "calls": self.calls,
            "command": [*self.program, *arguments],
        }  # fmt: skip
        return ["unshare", "--mount", sys.executable, __file__, json.dumps(given)]

    def start(self, *arguments: str, log: Path) -> "subprocess.Popen[bytes]":
        """Starts `curtsy …`; the process is that of the command itself."""
        with log.open("ab") as to:
            return subprocess.Popen(self.command(*arguments), stdin=subprocess.DEVNULL, stdout=to,
                                    stderr=to)  # fmt: skip

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(self.command(*arguments), stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False, timeout=120)  # fmt: skip


def enter(given: Mapping[str, Any]) -> None:
    """Makes this process, which has mounts of its own, the container's command."""
    mount("none", "/", None, _RECURSIVE | _PRIVATE)
    kept = {Path(path): os.open(path, os.O_PATH) for path in NEEDED}
    data = os.open(given["data"], os.O_PATH) if given["data"] else None
    mount("none", str(ROOT), "tmpfs", 0)
    for name in SYSTEM:
        place = Path("/") / name
        if place.is_symlink():
            (ROOT / name).symlink_to(place.readlink())
        elif place.is_dir():
            bind(place, ROOT / name)
    (ROOT / "tmp").mkdir()
    mount("none", str(ROOT / "tmp"), "tmpfs", 0)
    for path, opened in kept.items():
        if not (inside := ROOT / path.relative_to("/")).exists():
            bind(f"/proc/self/fd/{opened}", inside)
    if data is not None:
        bind(f"/proc/self/fd/{data}", ROOT / "data")
    else:
        (ROOT / "data").mkdir()
        os.chown(ROOT / "data", USER, USER)
    os.chroot(ROOT)
    os.chdir("/data")
    if given["hides_processes"]:
        mount("proc", "/proc", "proc", 0, "hidepid=invisible")
    make_read_only(but=("/tmp", "/data") if data is not None else ("/tmp",))
    inside = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/data"} | given["environment"]
    lesser = [f"--reuid={given['user']}", f"--regid={given['user']}", "--clear-groups",
              "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]  # fmt: skip
    command = given["command"]
    if given["calls"]:
        command = [sys.executable, __file__, "--limit", json.dumps(given["calls"]), *command]
    os.execve("/usr/bin/setpriv", ["setpriv", *lesser, *command], inside)


def limit(calls: Sequence[int], command: Sequence[str]) -> None:
    """Replaces this process by the command, which may make no other system calls. Mappings that
    can be written and run are refused too, as MemoryDenyWriteExecute does."""
    machine = seccomp.this_architecture()
    assert machine is not None
    rules = []
    for call in calls:
        rules += [seccomp._step(seccomp._EQUAL, 0, 1, call),
                  seccomp._step(seccomp._RETURN, 0, 0, seccomp._ALLOW)]  # fmt: skip
    rules.append(seccomp._step(seccomp._RETURN, 0, 0, seccomp._NOT_PERMITTED))
    ctypes.CDLL(None).prctl(_SET_MDWE, 1, 0, 0, 0)
    seccomp._install(machine, rules)
    os.execv(command[0], command)


def bind(source: object, target: Path) -> None:
    target.mkdir(parents=True)
    mount(str(source), str(target), None, _BIND | _RECURSIVE)


def make_read_only(but: Sequence[str]) -> None:
    """/dev, /proc and /sys stay as they are, as in a container."""
    for place in mount_points():
        if place not in but and not place.startswith(("/dev", "/proc", "/sys")):
            mount("none", place, None, _BIND | _REMOUNT | _READ_ONLY)


def mount_points() -> Sequence[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4].replace("\\040", " ") for line in lines]


def mount(
    source: str, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    text = None if kind is None else kind.encode()
    given = None if options is None else options.encode()
    if libc.mount(source.encode(), target.encode(), text, flags, given) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mount {target}: {os.strerror(error)}")


if __name__ == "__main__":
    if sys.argv[1] == "--limit":
        limit(json.loads(sys.argv[2]), sys.argv[3:])
    else:
        enter(json.loads(sys.argv[1]))
