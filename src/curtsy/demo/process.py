"""Runs the practice site in its own process, which ends with the program that started it.

`with PracticeProcess(hosts=20) as site: …`, or `async with`, which does not block the loop.
"""

import asyncio
import json
import selectors
import shutil
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from types import TracebackType
from typing import Self

from curtsy.demo import addresses, truth
from curtsy.demo.truth import Entry
from curtsy.errors import CurtsyError

_START_SECONDS = 60
_STOP_SECONDS = 10


class PracticeSiteFailed(CurtsyError):
    code = "practice_site_failed"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The practice site did not start: {reason}.")


class PracticeProcess:
    """The practice site in a process.

    Without `log_path` the access log is a temporary file that lasts as long as this object.
    """

    def __init__(
        self,
        *,
        hosts: int = 20,
        port: int = 0,
        log_path: Path | None = None,
        idle_seconds: float | None = None,
    ) -> None:
        self.hosts = hosts
        self.port = port
        self.pid: int | None = None
        self._idle_seconds = idle_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._log_path = log_path

    @property
    def log_path(self) -> Path:
        if self._log_path is None:
            folder = tempfile.mkdtemp(prefix="curtsy-practice-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._log_path = Path(folder) / "access.jsonl"
        return self._log_path

    def start(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
            self._command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            ready = json.loads(self._first_line(self._process))
        except BaseException:
            self._process.kill()
            self.stop()
            raise
        self.port, self.pid = ready["port"], ready["pid"]

    def stop(self) -> None:
        """Returns when the process is gone and its log is complete."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def url(self, host_index: int, path: str) -> str:
        """The URL of a page of the host with this number, from 0."""
        return addresses.url(host_index, self.port, path)

    def entries(self) -> list[Entry]:
        """The requests so far: without the last 50 ms while the site runs, afterwards all."""
        return truth.parse(self.log_path.read_bytes()) if self.log_path.exists() else []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _command(self) -> list[str]:
        command = [sys.executable, "-m", "curtsy.demo", "--until-stdin-closes"]
        command += ["--hosts", str(self.hosts), "--port", str(self.port)]
        command += ["--log", str(self.log_path)]
        if self._idle_seconds is not None:
            command += ["--idle-seconds", str(self._idle_seconds)]
        return command

    def _first_line(self, process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(_START_SECONDS):
                raise PracticeSiteFailed(f"it printed nothing for {_START_SECONDS} seconds")
        line = process.stdout.readline()
        if not line:
            raise PracticeSiteFailed(f"it ended with status {process.wait()}")
        return line
