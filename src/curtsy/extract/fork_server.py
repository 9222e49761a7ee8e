"""`python -m curtsy.extract.fork_server FD`: loads all built-in scrapers and forks child processes.

With `--own FILE… [--data PATH…]` it loads the user's own scrapers from these files and from
installed packages instead; scrapers may read the data.

The fork server is confined before it loads anything of others, and never handles a page itself, so
no page can corrupt it. Its channel carries packets. It receives `fork MEMORY` (with the child's end
of a channel), and sends `forked PID` and `exited PID STATUS`. It may not signal its children: the
parent kills them. It ends when its channel closes, and its children end with it.
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
from curtsy.extract.confinement import AddressSpace, confine_before_import, die_with_parent
from curtsy.extract.readable_paths import readable, split_arguments
from curtsy.scrapers import INTERNAL, PARSING, Scraper, load, load_links
from curtsy.scrapers.custom import OwnScraper
from curtsy.scrapers.custom import run as run_own_scraper
from curtsy.scrapers.discovery import Unusable, load_own_scrapers


class _Serve(Protocol):
    def __call__(
        self, channel: socket.socket, *, memory_bytes: int, address_space: int
    ) -> None: ...


_LONGEST_COMMAND = 4_096


def run(channel: socket.socket, own: Sequence[str] | None = None, data: Sequence[str] = ()) -> None:
    """With `own`, the children know the scrapers of these files and of installed packages."""
    die_with_parent()
    address_space = AddressSpace()
    # Libraries log what they find on a page: a web page must not be able to fill our log.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    load_links()
    serve = _serve_built_in() if own is None else _serve_own(own, data)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which drains
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    server = _ForkServer(channel, serve, address_space)
    poller = select.poll()  # select.select fails for file descriptors above 1023
    poller.register(channel, select.POLLIN)
    poller.register(wake, select.POLLIN)
    while True:
        readable = [file for file, _event in poller.poll()]
        if wake in readable:
            os.read(wake, _LONGEST_COMMAND)
            server.reap()
        if channel.fileno() in readable and not server.execute_command():
            return


def _serve_built_in() -> _Serve:
    for name in (*PARSING, *INTERNAL):
        load(name)
    confine_before_import(readable(()))
    return child_main.serve


def _serve_own(files: Sequence[str], data: Sequence[str]) -> _Serve:
    """A file that can no longer be loaded fails its pages, not the fork server."""
    import_module("curtsy.scrapers.selectors")  # else every child loads it for its only page
    confine_before_import(readable(files, data))
    found: dict[str, OwnScraper] = {}
    problem = "this scraper no longer exists"
    try:
        found = load_own_scrapers(files)
    except Unusable as unusable:
        problem = str(unusable)

    def load_scraper(name: str, params: Mapping[str, Any]) -> Scraper:
        if (own := found.get(name)) is None:
            raise LookupError(problem)
        return partial(run_own_scraper, own, params=params)

    return partial(child_main.serve, load_scraper=load_scraper)


class _ForkServer:
    def __init__(self, channel: socket.socket, serve: _Serve, address_space: AddressSpace) -> None:
        self._channel, self._serve, self._address_space = channel, serve, address_space
        self._alive: set[int] = set()

    def execute_command(self) -> bool:
        """Receives and executes one command. Returns False when the parent closed the channel."""
        message, files, _, _ = socket.recv_fds(self._channel, _LONGEST_COMMAND, 1)
        match message.decode().split():
            case ["fork", memory_bytes]:
                self._fork(files[0], int(memory_bytes))
            case []:
                return False
        return True

    def reap(self) -> None:
        """Collects the exit statuses of ended children and reports them."""
        for pid in tuple(self._alive):
            exited, status = os.waitpid(pid, os.WNOHANG)
            if exited:
                self._alive.discard(pid)
                self._report(f"exited {pid} {os.waitstatus_to_exitcode(status)}")

    def _fork(self, file: int, memory_bytes: int) -> None:
        size = self._address_space.size()
        pid = os.fork()
        if pid:
            os.close(file)
            self._alive.add(pid)
            self._report(f"forked {pid}")
            return
        status = 1
        try:
            die_with_parent()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._channel.close()
            with socket.socket(fileno=file) as channel:
                self._serve(channel, memory_bytes=memory_bytes, address_space=size)
            status = 0
        finally:
            os._exit(status)

    def _report(self, message: str) -> None:
        self._channel.send(message.encode())


if __name__ == "__main__":
    _number, *_rest = sys.argv[1:]
    _own, _data = split_arguments(_rest[1:])
    run(socket.socket(fileno=int(_number)), _own if _rest else None, _data)
