"""`python -m curtsy.extract.fork_server FD`: has all scrapers loaded and makes children by forking.

With `--own FILE…` these are the scrapers of your own, and no others.

It never reads a page itself, so it stays as it was born. On its channel, of packets, it is told
`make MEMORY` (with the child's end of a channel) or `end NUMBER`, and tells `made NUMBER` and
`ended NUMBER STATUS`. It ends when its channel does, and its children end with it.
"""

import logging
import os
import select
import signal
import socket
import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Protocol

from curtsy.extract import child_main
from curtsy.extract.confinement import die_with_parent, without_changing_files, without_network
from curtsy.scrapers import PARSING, Scraper, load, load_links
from curtsy.scrapers.custom import Own
from curtsy.scrapers.custom import run as run_own
from curtsy.scrapers.loader import Unusable, load_own


class _Serve(Protocol):
    def __call__(self, channel: socket.socket, *, memory_bytes: int) -> None: ...


_LONGEST_ORDER = 4_096


def run(channel: socket.socket, own: Sequence[str] | None = None) -> None:
    """With `own` its children know the scrapers of these files and of installed packages."""
    die_with_parent()
    # What libraries have to say of a page they say to us: a stranger must not fill our log.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    load_links()
    serve = _built_in() if own is None else _own(own)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which drains
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    nursery = _ForkServer(channel, serve)
    waiting = select.poll()  # as select.select it would fail in a process of a thousand sockets
    waiting.register(channel, select.POLLIN)
    waiting.register(wake, select.POLLIN)
    while True:
        readable = [file for file, _event in waiting.poll()]
        if wake in readable:
            os.read(wake, _LONGEST_ORDER)
            nursery.bury()
        if channel.fileno() in readable and not nursery.obey():
            return


def _built_in() -> _Serve:
    for name in PARSING:
        load(name)
    return child_main.serve


def _own(files: Sequence[str]) -> _Serve:
    """One that cannot be loaded any more fails pages, not the nursery."""
    without_network()
    without_changing_files()
    import_module("curtsy.scrapers.selectors")  # else every child loads it for its only page
    found: dict[str, Own] = {}
    problem = "this one is not there any more"
    try:
        found = load_own(files)
    except Unusable as unusable:
        problem = str(unusable)

    def named(name: str, params: Mapping[str, Any]) -> Scraper:
        if (one := found.get(name)) is None:
            raise LookupError(problem)
        return partial(run_own, one, params=params)

    return partial(child_main.serve, named=named, alone=True)


class _ForkServer:
    def __init__(self, channel: socket.socket, serve: _Serve) -> None:
        self._channel, self._serve = channel, serve
        self._alive: set[int] = set()

    def obey(self) -> bool:
        """One order; False when nobody is left to give any."""
        message, files, _, _ = socket.recv_fds(self._channel, _LONGEST_ORDER, 1)
        match message.decode().split():
            case ["make", memory_bytes]:
                self._make(files[0], int(memory_bytes))
            case ["end", number] if int(number) in self._alive:
                os.kill(int(number), signal.SIGKILL)
            case []:
                return False
        return True

    def bury(self) -> None:
        for number in tuple(self._alive):
            ended, status = os.waitpid(number, os.WNOHANG)
            if ended:
                self._alive.discard(number)
                self._tell(f"ended {number} {os.waitstatus_to_exitcode(status)}")

    def _make(self, file: int, memory_bytes: int) -> None:
        number = os.fork()
        if number:
            os.close(file)
            self._alive.add(number)
            self._tell(f"made {number}")
            return
        status = 1
        try:
            die_with_parent()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._channel.close()
            with socket.socket(fileno=file) as channel:
                self._serve(channel, memory_bytes=memory_bytes)
            status = 0
        finally:
            os._exit(status)

    def _tell(self, news: str) -> None:
        self._channel.send(news.encode())


if __name__ == "__main__":
    _number, *_rest = sys.argv[1:]
    run(socket.socket(fileno=int(_number)), _rest[1:] if _rest else None)
