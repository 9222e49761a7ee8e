"""The program as its users run it: a process, its log lines, its signals, its exit code."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.patience import PATIENCE

DEADLINE_SECONDS = PATIENCE


@dataclass
class Answer:
    status: int
    json: Any
    seconds: float

    @property
    def is_away(self) -> bool:
        """The store, by what it says; other reasons for a 503 are to be heard."""
        said = self.json if self.status == 503 else {}
        return said.get("store") == "away" or said.get("code") == "store_away"


@dataclass
class Running:
    process: subprocess.Popen[bytes]
    log: Path

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line[:1] == "{"]

    def said(self, event: str) -> dict[str, Any]:
        """The first line of this name, once it is there."""

        def found() -> dict[str, Any] | None:
            assert self.process.poll() is None, self.log.read_text()
            return next((line for line in self.lines() if line["event"] == event), None)

        line: dict[str, Any] = wait_for(found, lambda: f"no {event} in {self.log.read_text()}")
        return line

    @property
    def url(self) -> str:
        url: str = self.said("api_started")["url"]
        return url

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        return self.process.wait(timeout=DEADLINE_SECONDS)

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.ended()


def environment(**settings: Any) -> dict[str, str]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith("CURTSY_")}
    return outside | {f"CURTSY_{name.upper()}": str(value) for name, value in settings.items()}


@contextmanager
def running(folder: Path, *command: str, **settings: Any) -> Iterator[Running]:
    """`curtsy …` in the folder; killed at the end if it has not ended by itself."""
    quick = {"api_port": 0, "log_format": "json", "allow_addresses": "127.0.0.0/8",
             "min_delay_seconds": 0.02, "lease_seconds": 10}  # fmt: skip
    log = folder / f"{command[0]}-{time.monotonic_ns()}.log"
    with log.open("wb") as to:
        process = subprocess.Popen(
            [sys.executable, "-m", "curtsy", *command],
            cwd=folder,
            env=environment(**(quick | settings)),
            stdout=to,
            stderr=to,
        )
    try:
        yield Running(process, log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def ask(method: str, url: str, body: Any = None) -> Answer:
    """Asked again where the store seems to be away, as after a moment in which all stood still."""
    ends = time.monotonic() + PATIENCE
    while (answer := ask_once(method, url, body)).is_away and time.monotonic() < ends:
        time.sleep(0.1)
    return answer


def ask_once(method: str, url: str, body: Any = None) -> Answer:
    began = time.monotonic()
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if data else {}
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return Answer(response.status, json.load(response), time.monotonic() - began)
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, json.load(error), time.monotonic() - began)


def completed(url: str, job: str) -> Any:
    def over() -> Any:
        shown = ask("GET", f"{url}/jobs/{job}").json
        return shown if shown["status"] != "queued" else None

    return wait_for(over, lambda: f"{job} has not ended")


def wait_for(fact: Callable[[], Any], said: Callable[[], str]) -> Any:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := fact()):
        assert time.monotonic() < deadline, said()
        time.sleep(0.02)
    return found
