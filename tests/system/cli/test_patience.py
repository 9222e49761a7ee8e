"""What a command that waits says meanwhile, and when it gives up."""

import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Curtsy
from cli.running import running, wait_for
from cli.terminal import terminal
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.stall import Stall, nobody_answers, sentence_of
from curtsy.cli.console.text import seconds_or_never
from curtsy.client import Status
from curtsy.demo.process import PracticeProcess


@pytest.fixture
def closed() -> Iterator[str]:
    """A port of this machine where nobody listens, and nobody else can."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines and looks come often, so that a test sees many in a short time."""
    monkeypatch.setattr("curtsy.cli.console.progress.LINE_EVERY_SECONDS", 0.05)
    monkeypatch.setattr("curtsy.cli.console.stall.LOOK_AFTER", 0.2)


@pytest.mark.usefixtures("often")
def test_a_closed_port_is_named_once_and_given_up_and_the_rest_is_kept(
    quick: Curtsy, pages: PracticeProcess, closed: str
) -> None:
    good = pages.url(0, "/page/61")
    told = quick("scrape", good, f"{closed}/1", f"{closed}/2", "--give-up", "3s")
    assert told.exit_code == 3, told
    assert told.out.startswith(f"Page 61\n{good}\n")
    lines = told.err.splitlines()
    assert len(lines) == len(set(lines)), "no line is printed twice"
    waits = [line for line in lines if line.startswith("1 of 3 pages, 0 failed. ")]
    assert any("rests until" in line and "after a failure (connect)" in line for line in waits)
    assert f"{closed}/1: given up, since its host does not answer." in lines
    assert lines[-2].startswith("Gave up after 3 s (--give-up) without an answer. 127.0.0.1:")
    assert lines[-1].startswith("1 of 3 pages, 2 given up. What was fetched is stored;")
    again = quick("scrape", good, f"{closed}/1", "--give-up", "1s", "-q")
    assert (again.exit_code, "Page 61" in again.out) == (3, True)
    assert "Gave up after 1 s" in again.err, "also who wants quiet is told"
    assert quick("scrape", f"{closed}/3", "--give-up", "1s", "-q").exit_code == 4


def test_the_bar_says_what_is_waited_for(tmp_path: Path, closed: str) -> None:
    with terminal(tmp_path, "scrape", f"{closed}/1", "--give-up", "3s", columns=250) as shown:
        shown.shows("rests until")
        shown.shows(" s left)")
        shown.shows("Gave up after 3 s")
        assert shown.ended() == 4


@pytest.mark.usefixtures("often")
def test_a_host_that_asked_to_wait_is_not_given_up(
    quick: Curtsy, pages: PracticeProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTSY_RETRY_BASE", "1")  # the host asks for longer than we would wait
    monkeypatch.setenv("CURTSY_RETRY_CAP", "1")
    told = quick("scrape", pages.url(1, "/limited/4/1/1"), "--give-up", "1s")
    assert told.exit_code == 0, told
    assert "asked us to wait until" in told.err
    assert "Gave up" not in told.err


@pytest.mark.usefixtures("often")
def test_who_waits_for_a_job_is_told_what_it_waits_for(quick: Curtsy, tmp_path: Path) -> None:
    job = quick("submit", "http://a.example/", "--json").json["job_id"]
    quick("pause", job)
    with running(tmp_path, "status", job, "--wait") as waiting:
        said = "The job has been paused since"
        wait_for(lambda: said in waiting.log.read_text(), lambda: waiting.log.read_text())
        assert waiting.process.poll() is None, "the job goes on, so does the wait"


def test_a_span_of_patience_is_read_in_seconds_minutes_or_hours() -> None:
    assert seconds_or_never("60s", "--give-up") == seconds_or_never("60", "--give-up") == 60
    assert (seconds_or_never("5m", "--give-up"), seconds_or_never("2 h", "--give-up")) == (
        300,
        7200,
    )
    assert seconds_or_never("1d", "--give-up") == 86_400
    assert seconds_or_never("never", "--give-up") is None
    for wrong in ("", "0", "0s", "-1", "soon", "1w", "٣s"):
        with pytest.raises(WrongUsage, match="--give-up is"):
            seconds_or_never(wrong, "--give-up")


class _Stopped:
    """A job of which no page ends; it counts how often its reasons are read."""

    readings = 0

    async def why(self) -> dict[str, object]:
        self.readings += 1
        return {"reasons": [REST | {"until": "2030-01-01T00:00:00Z"}], "sources": [],
                "more_sources": 0}  # fmt: skip


async def test_a_reason_is_read_again_after_some_seconds_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr("curtsy.cli.console.stall.time.monotonic", lambda: now)
    job: Any = _Stopped()
    stall = Stall(job, quiet=False, give_up=None)
    status = Status("running", {"completed": 1, "failed": 0, "total_articles": 3})
    for half_seconds in range(40):
        now = 100.0 + half_seconds / 2
        await stall.look(status)
        assert (stall.sentence is None) is (half_seconds < 4)
    assert job.readings == 4, "after 2, 7, 12 and 17 seconds"
    assert stall.until == datetime(2030, 1, 1, tzinfo=UTC)
    await stall.look(Status("running", {"completed": 2, "failed": 0, "total_articles": 3}))
    assert (stall.sentence, stall.until) == (None, None)


REST = {"code": "backoff", "because": "a rests.", "until": "2030", "data": {"status": None}}
RETRY = {"code": "retry", "because": "A retry.", "until": "2031", "data": {}}
PAUSE = {"code": "source_paused", "because": "b is paused.", "until": None, "data": {}}


def test_the_reason_that_explains_most_is_told() -> None:
    def why(*sources: list[object], more: int = 0) -> dict[str, object]:
        return {"reasons": [], "sources": [{"reasons": list(of_one)} for of_one in sources],
                "more_sources": more}  # fmt: skip

    assert sentence_of(why([RETRY, REST])) == "a rests."
    assert sentence_of(why([REST], [PAUSE])) == "b is paused."
    assert sentence_of(why([])) is None
    assert nobody_answers(why([RETRY, REST], [REST]))
    assert not nobody_answers(why([RETRY, REST], [PAUSE]))
    assert not nobody_answers(why([REST], more=1)), "those may go on"
    answered = REST | {"data": {"status": 503}}
    assert not nobody_answers(why([answered]))
