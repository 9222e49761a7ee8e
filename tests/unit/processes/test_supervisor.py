"""The supervisor on a clock of the test's, with processes that only the test ends."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from curtsy.processes.supervisor import LONGEST_PAUSE_SECONDS, STEADY_SECONDS, Supervisor


class Scripted:
    """Stands for a worker process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None
        self.is_asked = False
        self.wakes = 0

    def ask_to_end(self) -> None:
        self.is_asked = True

    def wake(self) -> None:
        self.wakes += 1

    def kill(self) -> None:
        if self.status is None:
            self.status = -9

    def close(self) -> int:
        return 10


class Stage:
    """One place, and everything that was ever started there."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.made: list[Scripted] = []
        self.error: OSError | None = None
        self.supervisor = Supervisor([("1 of 1", self._start)], seconds=40, now=lambda: self.now)

    def _start(self) -> Any:
        if self.error is not None:
            raise self.error
        self.made.append(Scripted(len(self.made) + 1))
        return self.made[-1]

    def dies_after(self, seconds: float, status: int = 1) -> None:
        self.now += seconds
        self.made[-1].status = status
        self.supervisor.step()

    def pause(self) -> float:
        """Lets time pass until the next start; returns how long that took."""
        began, number = self.now, len(self.made)
        while len(self.made) == number:
            self.supervisor.step()
            self.now += 0.25
            assert self.now < began + 100
        return self.now - began - 0.25


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.supervisor.step()
    return made


def test_a_process_that_lived_long_is_followed_at_once(stage: Stage) -> None:
    stage.dies_after(STEADY_SECONDS)
    assert len(stage.made) == 2


def test_one_that_ends_soon_is_followed_later_and_later_up_to_a_limit(stage: Stage) -> None:
    pauses = []
    for _ in range(9):
        stage.dies_after(1)
        pauses.append(stage.pause())
    assert pauses == [0.5, 1, 2, 4, 8, 16, LONGEST_PAUSE_SECONDS, 30, 30]
    number = len(stage.made)
    stage.dies_after(STEADY_SECONDS)
    assert len(stage.made) == number + 1, "a long life is a new beginning"
    stage.dies_after(1)
    assert stage.pause() == 0.5


def test_the_third_short_life_is_reported_in_a_sentence(stage: Stage) -> None:
    with capture_logs() as lines:
        for _ in range(3):
            stage.dies_after(1)
            stage.pause()
    [line] = [line for line in lines if line["event"] == "worker_process_keeps_ending"]
    assert line["log_level"] == "error"
    assert line["meaning"] == (
        "Worker process 1 of 1 has ended 3 times soon after its start; its own lines say why. "
        "The next start is in 2 s."
    )


def test_a_machine_without_room_for_a_process_is_asked_again_later(stage: Stage) -> None:
    stage.error = BlockingIOError(11, "Resource temporarily unavailable")
    with capture_logs() as lines:
        stage.dies_after(1, status=-9)
        stage.now += 0.5
        stage.supervisor.step()
    reasons = [line["reason"] for line in lines if line["event"] == "worker_process_ended"]
    assert reasons == ["SIGKILL", "[Errno 11] Resource temporarily unavailable"]
    stage.error = None
    assert stage.pause() == 1


async def test_after_a_stop_none_is_started_and_the_late_are_killed(stage: Stage) -> None:
    stage.supervisor.begin_stop()
    [process] = stage.made
    assert process.is_asked
    assert stage.supervisor.step() is False
    stage.now += 40
    assert stage.supervisor.step() is False
    assert process.status == -9
    assert stage.supervisor.step() is True
    assert len(stage.made) == 1
    assert stage.supervisor.recorded == 10


async def test_one_that_was_about_to_start_again_is_not_started_after_a_stop(stage: Stage) -> None:
    stage.dies_after(1)
    stage.supervisor.begin_stop()
    stage.now += 20
    assert stage.supervisor.step() is True
    assert len(stage.made) == 1


async def test_calls_that_follow_each_other_wake_at_once_and_then_once_more(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wake makes every process look for work."""
    timers: list[Callable[[], None]] = []
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "call_later", lambda _seconds, call: timers.append(call) or True)
    [process] = stage.made
    for _ in range(100):
        stage.supervisor.wake()
    assert process.wakes == 1
    timers.pop()()
    assert process.wakes == 2
    timers.pop()()
    assert process.wakes == 2
    stage.supervisor.wake()
    assert process.wakes == 3
