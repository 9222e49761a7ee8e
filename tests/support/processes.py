"""Real `curtsy` processes for tests: started, paused and killed by their ids, never by name.

Each logs JSON lines to its own file. None outlives the test: the rest is killed when the fleet
ends, or by the kernel if the test itself is killed.
"""

import asyncio
import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

LAUNCHER = Path(__file__).parents[1] / "slow/chaos/without_guard.py"
STOP_SECONDS = 60
QUICK: Mapping[str, str] = {
    "ALLOW_ADDRESSES": "127.0.0.0/8",
    "CONNECT_TIMEOUT": "5",
    "DB_POOL_SIZE": "4",
    "HOST_GIVE_UP_PROBES": "50",
    "LEASE_SECONDS": "2",
    "LOG_FORMAT": "json",
    "MIN_DELAY_SECONDS": "0.1",
    "RETRY_BASE": "0.1",
    "RETRY_CAP": "0.4",
    "SCRAPE_TIMEOUT": "10",
    "WORKER_SLOTS": "50",
}
"""Settings with short timeouts, so that failures play out in seconds."""

CRASHES = ("duty_failed", "lane_failed", "flush_refused", "heartbeat_failed", "request_failed")


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Process:
    """A process that can be started again; all its runs append to one log."""

    def __init__(self, command: list[str], environment: Mapping[str, str], log: Path) -> None:
        self._command, self._environment, self._log = command, environment, log
        self._process: subprocess.Popen[bytes] | None = None
        self._earlier = 0

    def start(self) -> Self:
        """Starts the process. Main thread only: the kernel kills it with the thread that started
        it."""
        with self._log.open("ab") as log:
            self._earlier = log.tell()
            self._process = subprocess.Popen(
                self._command, env=dict(self._environment), stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, cwd=self._log.parent, preexec_fn=_die_with_parent,
            )  # fmt: skip
        return self

    @property
    def has_logged(self) -> bool:
        """Whether this run has logged a line; before that, its signal handlers may be missing."""
        return self._log.stat().st_size > self._earlier

    @property
    def pid(self) -> int:
        assert self._process is not None, "it was never started"
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit code; None: it runs; negative: the signal that ended it."""
        assert self._process is not None, "it was never started"
        return self._process.poll()

    def send(self, what: signal.Signals) -> None:
        if self.status is None:
            os.kill(self.pid, what)

    def pause(self) -> None:
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        self.send(signal.SIGCONT)

    def kill(self) -> None:
        """Kills the process and waits for its end."""
        self.send(signal.SIGKILL)
        assert self._process is not None
        self._process.wait(STOP_SECONDS)

    async def stop(self) -> int:
        """Sends SIGTERM and returns the exit code."""
        self.resume()
        self.send(signal.SIGTERM)
        assert self._process is not None
        return await asyncio.to_thread(self._process.wait, STOP_SECONDS)

    def lines(self) -> list[dict[str, Any]]:
        """The log lines; a line that is not JSON, as of a traceback, becomes `text`."""
        found = []
        for line in (
            self._log.read_text(errors="replace").splitlines() if self._log.exists() else ()
        ):
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                found.append({"event": "", "text": line})
        return found

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line.get("event") == event]

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])


class Fleet:
    """The processes of one test, all on one database."""

    def __init__(
        self,
        folder: Path,
        database_url: str,
        *,
        environment: Mapping[str, str] | None = None,
        **settings: object,
    ) -> None:
        self._folder, self._url = folder, database_url
        self._environment = {k: v for k, v in os.environ.items() if not k.startswith("CURTSY_")}
        self._environment |= environment or {}
        self._settings = dict(QUICK) | _as_text(settings)
        self.source: Path | None = None
        """The `src` folder of the program that is started next; None: this one."""
        self.workers: list[Process] = []
        self.schedulers: list[Process] = []
        self.processes: list[Process] = []

    @property
    def lease(self) -> float:
        return float(self._settings["LEASE_SECONDS"])

    @property
    def delay(self) -> float:
        return float(self._settings["MIN_DELAY_SECONDS"])

    def worker(self, *, without: str | None = None, **settings: object) -> Process:
        process = self._new_process(["worker"], without, settings)
        self.workers.append(process)
        return process.start()

    def scheduler(self, *, without: str | None = None, **settings: object) -> Process:
        process = self._new_process(["scheduler"], without, settings)
        self.schedulers.append(process)
        return process.start()

    def api(self, port: int, *, without: str | None = None, **settings: object) -> Process:
        return self._new_process(["api", "--port", str(port)], without, settings).start()

    def _new_process(
        self, command: list[str], without: str | None, settings: Mapping[str, object]
    ) -> Process:
        program = ["-m", "curtsy"] if without is None else [str(LAUNCHER), without, "--"]
        ours = {"DATABASE_URL": self._url} | self._settings | _as_text(settings)
        environment = self._environment | {f"CURTSY_{k}": value for k, value in ours.items()}
        if self.source is not None:
            environment["PYTHONPATH"] = str(self.source)
        log = self._folder / f"{command[0]}-{len(self.processes) + 1}.log"
        process = Process([sys.executable, *program, *command], environment, log)
        self.processes.append(process)
        return process

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [line for process in self.processes for line in process.logged(event)]

    def lock_conflicts(self) -> list[dict[str, Any]]:
        """SQLite transactions that were repeated because the file was locked."""
        repeated = self.logged("transaction_repeated")
        return [line for line in repeated if "database is locked" in line["reason"]]

    def crashes(self) -> list[str]:
        """Logged internal errors: no outside failure excuses one."""
        return [
            f"{process._log.name}: {sentence}"
            for process in self.processes
            for sentence in _crashes(process.lines())
        ]

    async def stop(self) -> list[int]:
        """Sends SIGTERM to all and returns their exit codes."""
        running = [process for process in self.processes if process.status is None]
        return list(await asyncio.gather(*(process.stop() for process in running)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            if process._process is not None:
                process.kill()


def _crashes(lines: list[dict[str, Any]]) -> Iterator[str]:
    for before, line in pairwise([{}, *lines]):
        # SQLAlchemy prints a traceback if a task ends while it closes a broken connection.
        excused = str(before.get("text")).startswith("Exception terminating connection")
        if line["event"] in CRASHES or (
            str(line.get("text")).startswith("Traceback") and not excused
        ):
            yield str(line)[:1500]


def _as_text(settings: Mapping[str, object]) -> dict[str, str]:
    return {name.upper(): str(value) for name, value in settings.items()}
