"""The channel between a supervisor and a worker process, from both sides of a real process."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from curtsy.processes import worker_process
from curtsy.processes.worker_process import WorkerProcess
from support.engine import until
from support.patience import PATIENCE

CHILD = """
import asyncio, sys
sys.path[:0] = {path!r}
from curtsy.processes.lifeline import Lifeline

async def main():
    over, woken = asyncio.Event(), 0
    with Lifeline(over.set, seconds={seconds}) as lifeline:
        def wake():
            nonlocal woken
            woken += 1
            lifeline.committed()
        lifeline.on_wake = wake
        lifeline.committed()
        await over.wait()
        {then}
        lifeline.report(1000 + woken)

asyncio.run(main())
"""


class Heard:
    def __init__(self) -> None:
        self.commits = 0

    def __call__(self) -> None:
        self.commits += 1


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(worker_process, "PROGRAM", (str(tmp_path / "child.py"),))
    return tmp_path / "child.py"


@pytest.fixture
def started() -> Iterator[list[WorkerProcess]]:
    processes: list[WorkerProcess] = []
    yield processes
    for process in processes:
        process.kill()


def _write(script: Path, *, seconds: float = PATIENCE, then: str = "pass") -> None:
    script.write_text(CHILD.format(path=sys.path, seconds=seconds, then=then))


async def _ended(process: WorkerProcess) -> int | None:
    async def over() -> bool:
        return process.status is not None

    await until(over, PATIENCE, lambda: "it goes on")
    return process.status


async def test_work_wakes_the_process_and_its_commits_are_heard(
    script: Path, started: list[WorkerProcess]
) -> None:
    _write(script)
    heard = Heard()
    process = WorkerProcess("1 of 2 under 3", {}, heard)
    started.append(process)

    async def reached(number: int) -> None:
        async def are_heard() -> bool:
            return heard.commits == number

        await until(are_heard, PATIENCE, lambda: f"{heard.commits} commits were heard")

    await reached(1)
    process.wake()
    await reached(2)
    process.wake()
    await reached(3)
    process.ask_to_end()
    assert await _ended(process) == 0
    assert process.close() == 1002


async def test_the_results_of_all_lives_of_a_process_count(
    script: Path, started: list[WorkerProcess]
) -> None:
    _write(script, then="lifeline.report(500)")
    process = WorkerProcess("1 of 2 under 3", {}, Heard())
    started.append(process)
    process.ask_to_end()
    assert await _ended(process) == 0
    assert process.close() == 1500


async def test_a_process_that_does_not_stop_in_time_ends_even_if_its_loop_hangs(
    script: Path, started: list[WorkerProcess]
) -> None:
    _write(script, seconds=0.1, then="import time; time.sleep(600)")
    heard = Heard()
    process = WorkerProcess("1 of 2 under 3", {}, heard)
    started.append(process)
    process.ask_to_end()
    assert await _ended(process) == 1
    assert process.close() == 0


async def test_one_that_does_not_read_holds_up_nobody(
    script: Path, started: list[WorkerProcess]
) -> None:
    script.write_text("import time; time.sleep(600)")  # noqa: ASYNC240 - a line
    process = WorkerProcess("1 of 2 under 3", {}, Heard())
    started.append(process)
    for _ in range(100_000):
        process.wake()
    process.kill()
    assert await _ended(process) == -9
    process.wake()
    process.ask_to_end()
    assert process.close() == 0
