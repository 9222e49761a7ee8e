"""`python -m curtsy.extract.nursery FD`: has all scrapers loaded and makes children by forking.

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

from curtsy.extract import child
from curtsy.extract.confinement import die_with_parent
from curtsy.scrapers import PARSING, load, load_links

_LONGEST_ORDER = 4_096


def run(channel: socket.socket) -> None:
    die_with_parent()
    # What libraries have to say of a page they say to us: a stranger must not fill our log.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    for name in PARSING:
        load(name)
    load_links()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which drains
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    nursery = _Nursery(channel)
    while True:
        readable, _, _ = select.select([channel.fileno(), wake], [], [])
        if wake in readable:
            os.read(wake, _LONGEST_ORDER)
            nursery.bury()
        if channel.fileno() in readable and not nursery.obey():
            return


class _Nursery:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
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
                child.serve(channel, memory_bytes=memory_bytes)
            status = 0
        finally:
            os._exit(status)

    def _tell(self, news: str) -> None:
        self._channel.send(news.encode())


if __name__ == "__main__":
    run(socket.socket(fileno=int(sys.argv[1])))
