"""A terminal of a given size, with a program in it."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.conftest import QUICK
from cli.running import DEADLINE_SECONDS, environment, wait_for


class Terminal:
    def __init__(self, master: int, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._master = master
        self._shown = b""
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._master, 65_536)
            except OSError:  # Linux says so when the program has ended
                return
            if not chunk:
                return
            self._shown += chunk

    @property
    def shown(self) -> str:
        """All that ever was on it, with its colours."""
        return self._shown.decode(errors="replace").replace("\r\n", "\n")

    def shows(self, words: str) -> None:
        wait_for(lambda: words in self.shown, lambda: f"no {words!r} in {self.shown!r}")

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def ended(self) -> int:
        code = self.process.wait(timeout=DEADLINE_SECONDS)
        self._reading.join(DEADLINE_SECONDS)
        return code


@contextmanager
def terminal(
    folder: Path,
    *command: str,
    columns: int = 80,
    also: dict[str, str] | None = None,
    **settings: Any,
) -> Iterator[Terminal]:
    """`curtsy …` on a terminal; killed at the end if it has not ended by itself."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = environment(**(QUICK | settings)) | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        kept.pop(name, None)

    def own_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [sys.executable, "-m", "curtsy", *command], cwd=folder, env=kept | (also or {}),
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=own_terminal,
    )  # fmt: skip
    os.close(slave)
    try:
        yield Terminal(master, process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(master)
