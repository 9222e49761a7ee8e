"""Scrapers as somebody may write them, on a bad day or with bad intent."""

import builtins
import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import orjson

from curtsy.scrapers import Broken, Found, Page, scraper


@scraper
def own_fine(page: Page) -> dict[str, object]:
    """Finds what is on the page."""
    return {"body": page.text, "process": os.getpid(), "params": page.params}


@scraper(key=["id"])
def own_listing(page: Page) -> Found:
    records = [{"id": n, "words": page.text} for n in (1, 2, 1)]
    return Found(records=records, links=["/next", "mailto:x"], next="/2")


@scraper
def own_evil(page: Page) -> object:
    order, _, rest = page.text.partition(" ")
    deeds[order](rest)
    return {"did": order}


def _raise(rest: str) -> None:
    raise ValueError(rest)


def _broken(rest: str) -> None:
    raise Broken(rest)


def _odd(rest: str) -> None:
    print("said\0 \ud800")
    raise {"broken": Broken, "error": ValueError}[rest]("No\0 prices \ud800.")


def _hang(rest: str) -> None:
    while True:
        pass


def _print(rest: str) -> None:
    for n in range(int(rest)):
        print(f"line {n}", "x" * 5_000)
    print("to stderr", file=sys.stderr)


def _write(rest: str) -> None:
    for file in (1, 2):
        os.write(file, b"x" * 100_000)


def _write_everywhere(rest: str) -> None:
    for file in range(256):
        try:
            os.write(file, bytes.fromhex(rest))
        except OSError:
            continue


def _eat(rest: str) -> None:
    hoard = [bytearray(10_000_000) for _ in range(int(rest))]
    raise AssertionError(len(hoard))


def _patch(rest: str) -> None:
    match rest:
        case "orjson":
            orjson.dumps = None
        case "exit":
            os._exit = lambda status: None
        case "builtins":
            builtins.len = lambda thing: 7
        case "socket":
            socket.socket.sendall = lambda *_: None
    json.patched_by_a_page = True


def _is_patched(rest: str) -> None:
    assert not hasattr(json, "patched_by_a_page"), "what another page did is still there"


def _thread(rest: str) -> None:
    threading.Thread(target=time.sleep, args=(30,)).start()


def _connect(rest: str) -> None:
    urllib.request.urlopen(f"http://{rest}/", timeout=2)


def _secrets(rest: str) -> None:
    assert not [name for name in os.environ if "CURTSY" in name or "DATABASE" in name]


def _call(name: str, *arguments: int) -> None:
    """Of the C library, which raises nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def _ioprio(rest: str) -> None:
    number = {"x86_64": 251, "aarch64": 30}[os.uname().machine]
    _call("syscall", number, 1, 0, 3 << 13)


def _own(rest: str) -> None:
    """What there is to read is told to the parent, with a signal that ends it."""
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, os.getppid())
    fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writing, b"x")


def _own_socket(rest: str) -> None:
    for file in range(3, 256):
        try:
            fcntl.ioctl(file, 0x8901, os.getppid().to_bytes(4, sys.byteorder))
        except PermissionError:
            raise
        except OSError:
            continue


deeds = {
    "raise": _raise,
    "broken": _broken,
    "odd": _odd,
    "hang": _hang,
    "print": _print,
    "write": _write,
    "write-everywhere": _write_everywhere,
    "eat": _eat,
    "patch": _patch,
    "is-patched": _is_patched,
    "thread": _thread,
    "connect": _connect,
    "secrets": _secrets,
    "exit": lambda rest: sys.exit(rest),
    "os-exit": lambda rest: os._exit(int(rest)),
    "interrupt": lambda rest: (_ for _ in ()).throw(KeyboardInterrupt),
    "fork": lambda rest: os.fork() or time.sleep(30),
    "run": lambda rest: subprocess.run(["sleep", "30"], check=True),
    "close": lambda rest: os.closerange(0, 256),
    "kill-parent": lambda rest: os.kill(os.getppid(), signal.SIGKILL),
    # Signal 0 harms nobody: were these not refused, a real one would end the whole machine.
    "signal-all": lambda rest: os.kill(-1, 0),
    "signal-group": lambda rest: os.kill(0, 0),
    "own": _own,
    "own-socket": _own_socket,
    # As it is already; with the number of files a parent could be ended.
    "limit-parent": lambda rest: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0)),
    "limit-itself": lambda rest: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    # Refused of others as of itself; of others of root's the kernel would refuse it anyway.
    "slow": lambda rest: os.setpriority(os.PRIO_PROCESS, 0, 19),
    "bind": lambda rest: os.sched_setaffinity(0, os.sched_getaffinity(0)),
    "schedule": lambda rest: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
    "schedule-anew": lambda rest: os.sched_setparam(0, os.sched_param(0)),
    "slow-reading": _ioprio,
    "share-memory": lambda rest: _call("shmget", 0, 4_096, 0o600),
    "queue-messages": lambda rest: _call("msgget", 0, 0o600),
    "abort": lambda rest: os.abort(),
    "real-time": lambda rest: os.kill(os.getpid(), 40),
    "recurse": lambda rest: deeds["recurse"](rest),
}
