"""Contestants are processes of their own: `python -m bench.contestants.NAME`.

A contestant reads its options as one line of JSON and prints one line of JSON. Whatever happens
here, no child outlives its measurement.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LONGEST_SECONDS = 3_600


class ContestantFailed(Exception):
    """The child failed; the text has the end of its output."""


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def run(contestant: str, *, root: Path = ROOT, **options: Any) -> dict[str, Any]:
    """Runs the contestant to its end and returns its measurements. `root` is the folder of the
    project, or of another revision of it."""
    with Child(contestant, root=root, **options) as child:
        return child.answer()


class Child:
    """A contestant that runs in parallel until `answer` or the end of the `with`."""

    def __init__(self, contestant: str, *, root: Path = ROOT, **options: Any) -> None:
        self.contestant = contestant
        command = [sys.executable, "-m", f"bench.contestants.{contestant}"]
        self.process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=die_with_parent,
            env=os.environ | {"PYTHONPATH": str(root / "src")},
        )  # fmt: skip
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(options).encode() + b"\n")
        self.process.stdin.flush()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def first_line(self) -> bytes:
        """Waits for its first line; none means that it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.answer()
        return line

    def wait_until_ready(self) -> None:
        self.first_line()

    def answer(self) -> dict[str, Any]:
        """Closes its stdin, which ends a serving contestant, and waits for its line."""
        out, err = self.process.communicate(timeout=LONGEST_SECONDS)
        if self.process.returncode != 0:
            raise ContestantFailed(f"{self.contestant}: {err.decode()[-3000:]}")
        found: dict[str, Any] = json.loads(out.splitlines()[-1])
        return found


def contestant(measure: Callable[..., dict[str, Any]]) -> None:
    """In the child: measures with the given options and prints the result."""
    print(json.dumps(measure(**json.loads(sys.stdin.buffer.readline()))), flush=True)
