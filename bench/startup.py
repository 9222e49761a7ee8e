"""What a start costs: processor time, wall-clock time and modules of commands, beside the same on
an earlier revision, and beside an interpreter that does nothing."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from bench.children import ROOT, die_with_parent
from bench.databases import Databases
from bench.lines import Line
from bench.revisions import checked_out
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes
from bench.spent import processor_time
from curtsy.demo.news import article_paths
from curtsy.demo.process import PracticeProcess

OF_BARE = 2.0
"""The version, as a multiple of an interpreter that does nothing."""
STOP_SECONDS = 30
SETTINGS = {"CURTSY_ALLOW_ADDRESSES": "127.0.1.0/24", "CURTSY_MIN_DELAY_SECONDS": "0.01",
            "CURTSY_LOG_FORMAT": "json"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Start:
    """One way to start curtsy."""

    arguments: tuple[str, ...]
    until: bytes | None = None
    """What it prints when it is up; None: it ends by itself."""
    fresh: bool = False
    """Each time on a file that does not exist."""
    bar: float | None = None
    """Its processor time, as a share of the earlier revision's."""


@dataclass(slots=True)
class Place:
    """Where commands run: a folder with a database of its own, and the code of one revision."""

    root: Path
    folder: Path
    walls: dict[str, list[float]] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        # Without its byte code each start would compile the revision anew.
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("CURTSY_", "PYTHON"))}  # fmt: skip
        file = f"sqlite:///{self.folder / 'curtsy.db'}"
        return kept | SETTINGS | {"PYTHONPATH": str(self.root / "src"), "CURTSY_DATABASE_URL": file}

    def remove_database(self) -> None:
        for part in self.folder.glob("curtsy.db*"):
            part.unlink()


def run(sizes: Sizes, _databases: Databases) -> list[Line]:
    with ExitStack() as stack:
        before = stack.enter_context(checked_out(sizes.beside))
        roots = {"now": ROOT} | ({"before": before} if before is not None else {})
        places = {
            name: Place(root, Path(stack.enter_context(tempfile.TemporaryDirectory())))
            for name, root in roots.items()
        }
        site = stack.enter_context(PracticeProcess(hosts=1))
        url, job = stack.enter_context(_service(site))
        lines = _version_beside_bare(places["now"], sizes)
        for name, start in _starts(site, url, job).items():
            lines += _compared(name, start, places, sizes)
        return lines


def _starts(site: PracticeProcess, url: str, job: str) -> dict[str, Start]:
    scrape = ("scrape", "--quiet", "--max-age", "0", site.url(0, article_paths()[0]))
    return {
        "--version": Start(("--version",), bar=0.1),
        "--help": Start(("--help",), bar=0.7),
        "jobs --url": Start(("jobs", "--url", url), bar=0.8),
        "status --url": Start(("status", job, "--url", url), bar=0.8),
        "scrape, no file yet": Start(scrape, fresh=True, bar=0.6),
        "scrape, page unchanged": Start(scrape, bar=0.85),
        "jobs": Start(("jobs",), bar=0.85),
        "up, no file yet": Start(("up", "--port", "0", "--json"), b'"up"', fresh=True, bar=0.6),
        "up": Start(("up", "--port", "0", "--json"), b'"up"', bar=0.9),
        "worker": Start(("worker",), b"worker_started", bar=0.9),
    }


def _version_beside_bare(place: Place, sizes: Sizes) -> list[Line]:
    contestants: dict[str, Callable[[], float]] = {
        "version": partial(_measure, "version", Start(("--version",)), place),
        "bare": partial(_ended, ["-c", "pass"], place, place.walls.setdefault("bare", [])),
    }
    _measure("", Start(("--version",)), place)
    measured = interleaved(contestants, sizes.startup_pairs)
    return [
        Line("startup", f"--version / python -c pass, {what}", f"{found['version']:.0f} ms",
             f"{found['bare']:.0f} ms", ratio(figures, "version", "bare"), bar,
             at_least=False)
        for what, figures, bar in (("processor time", measured, OF_BARE),
                                   ("wall-clock time", place.walls, None))
        if (found := medians({name: figures[name] for name in contestants}))
    ]  # fmt: skip


def _compared(name: str, start: Start, places: dict[str, Place], sizes: Sizes) -> Iterator[Line]:
    print(f"  {name}:", flush=True)
    modules = {which: _modules(start, place) for which, place in places.items()}
    contestants: dict[str, Callable[[], float]] = {
        which: partial(_measure, name, start, place) for which, place in places.items()
    }
    cpu = interleaved(contestants, sizes.startup_pairs)
    walls = {which: place.walls[name] for which, place in places.items()}
    for what, figures in (("processor time", cpu), ("wall-clock time", walls)):
        found = medians(figures)
        if "before" not in found:
            yield Line("startup", f"{name}, {what}", f"{found['now']:.0f} ms", "",
                       found["now"], unit="ms")  # fmt: skip
            continue
        yield Line("startup", f"{name}, {what}: now / {sizes.beside}", f"{found['now']:.0f} ms",
                   f"{found['before']:.0f} ms", ratio(figures, "now", "before"),
                   start.bar if figures is cpu else None, at_least=False)  # fmt: skip
    beside = f"{modules['before']} at {sizes.beside}" if "before" in modules else ""
    yield Line("startup", f"{name}, modules", str(modules["now"]), beside, modules["now"], unit="")


def _measure(name: str, start: Start, place: Place) -> float:
    """Milliseconds of processor time; notes the wall-clock time."""
    if start.fresh:
        place.remove_database()
    walls = place.walls.setdefault(name, [])
    if start.until is None:
        return _ended(["-m", "curtsy", *start.arguments], place, walls)
    with _running(start, place) as (process, began):
        walls.append(1000 * (time.perf_counter() - began))
        return 1000 * processor_time(process.pid)


def _ended(arguments: list[str], place: Place, walls: list[float]) -> float:
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], cwd=place.folder,
                               env=place.environment(), stdout=subprocess.DEVNULL,
                               preexec_fn=die_with_parent)  # fmt: skip
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    walls.append(1000 * (time.perf_counter() - began))
    if process.returncode != 0:
        raise RuntimeError(f"{arguments} ended with {process.returncode}")
    return 1000 * (used.ru_utime + used.ru_stime)


def _modules(start: Start, place: Place) -> int:
    """How many modules the process has imported; its children's are not counted. Also makes the
    byte code, and the database for those that need one."""
    if start.fresh:
        place.remove_database()
    if start.until is None:
        command = [sys.executable, "-X", "importtime", "-m", "curtsy", *start.arguments]
        ended = subprocess.run(command, cwd=place.folder, env=place.environment(), check=True,
                               capture_output=True)  # fmt: skip
        return ended.stderr.count(b"import time:")
    with tempfile.TemporaryFile() as noted:
        with _running(start, place, "-X", "importtime", noted=noted):
            pass
        noted.seek(0)
        return noted.read().count(b"import time:")


@contextmanager
def _running(
    start: Start, place: Place, *options: str, noted: IO[bytes] | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """Yields the process once it has printed that it is up, and when it was started."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *options, "-m", "curtsy", *start.arguments], cwd=place.folder,
        env=place.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=die_with_parent,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        seen = b""
        while start.until is not None and start.until not in (line := process.stdout.readline()):
            if noted is not None:
                noted.write(line)
            seen = (seen + line)[-2000:]
            if not line:
                raise RuntimeError(f"{start.arguments} ended: {seen.decode()}")
        yield process, began
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=STOP_SECONDS)


@contextmanager
def _service(site: PracticeProcess) -> Iterator[tuple[str, str]]:
    """Runs this revision's `curtsy up`; yields its URL and the id of a job of one page."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(ROOT, Path(folder))
        process = subprocess.Popen(
            [sys.executable, "-m", "curtsy", "up", "--port", "0", "--json"], cwd=folder,
            env=place.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            url = json.loads(process.stdout.readline())["url"]
            submit = [sys.executable, "-m", "curtsy", "submit", "--wait", "--json", "--url", url]
            told = subprocess.run([*submit, site.url(0, article_paths()[0])], check=True,
                                  env=place.environment(), capture_output=True)  # fmt: skip
            yield url, json.loads(told.stdout)["job_id"]
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=STOP_SECONDS)
