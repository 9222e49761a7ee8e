"""`curtsy up --processes N`: API and scheduler in the first process, N workers beside it."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.running import Running, ask, environment, running, wait_for
from curtsy.demo.process import PracticeProcess
from processes.conftest import HOSTS, lives

SETTINGS: dict[str, Any] = {"worker_processes": 3, "worker_slots": 6, "robots": "ignore"}


def _workers(up: Running) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = wait_for(
        lambda: len(workers := ask("GET", f"{up.url}/workers").json["workers"]) == 3 and workers,
        lambda: f"not three workers: {up.log.read_text()}",
    )
    return found


def _submit(up: Running, site: PracticeProcess, pages: int) -> str:
    urls = [site.url(number % HOSTS, f"/slow/100/{number}") for number in range(pages)]
    body = {"articles": [{"url": url} for url in urls]}
    job: str = ask("POST", f"{up.url}/jobs/submit", body).json["job_id"]
    return job


def test_its_workers_share_the_work_and_end_with_it(
    tmp_path: Path, practice: PracticeProcess, database_url: str
) -> None:
    with running(tmp_path, "up", database_url=database_url, **SETTINGS) as up:
        workers = _workers(up)
        number = up.process.pid
        assert {worker["process"] for worker in workers} == {
            f"{place} of 3 under {number}" for place in (1, 2, 3)
        }
        assert number not in {worker["pid"] for worker in workers}, "that serves the API"
        job = _submit(up, practice, 200)

        def ended() -> bool:
            status = ask("GET", f"{up.url}/jobs/{job}/status").json
            return bool(status["completed"] + status["failed"] == 200)

        wait_for(ended, lambda: f"{job} has not ended")
        assert up.stop() == 0
        assert not any(lives(worker["pid"]) for worker in workers)
        assert "Stopped: 200 results recorded." in up.log.read_text(), "those of all processes"
        by = {line["process"] for line in up.lines() if line.get("recorded")}
        assert len(by) == 3


def test_a_killed_one_leaves_no_worker_behind(tmp_path: Path) -> None:
    with running(tmp_path, "up", **SETTINGS) as up:
        others = [worker["pid"] for worker in _workers(up)]
        up.signal(signal.SIGKILL)
        up.ended()
        wait_for(lambda: not any(map(lives, others)), lambda: "some live on")
    with running(tmp_path, "up", **SETTINGS) as again:
        assert len(_workers(again)) == 3


def test_in_the_background_it_has_as_many_and_is_stopped_with_them(tmp_path: Path) -> None:
    def curtsy(*arguments: str) -> Any:
        told = subprocess.run(
            [sys.executable, "-m", "curtsy", *arguments, "--json"], cwd=tmp_path,
            env=environment(api_port=0, lease_seconds=3), capture_output=True, check=True,
        )  # fmt: skip
        return json.loads(told.stdout)

    facts = curtsy("up", "--detach", "--processes", "2")
    try:
        assert facts["workers"] == 2
        workers = wait_for(
            lambda: (
                len(found := ask("GET", f"{facts['url']}/workers").json["workers"]) == 2 and found
            ),
            lambda: "not two workers",
        )
    finally:
        assert curtsy("stop") == {"status": "stopped", "process": facts["process"]}
    assert not any(lives(worker["pid"]) for worker in workers)


@pytest.mark.parametrize(("processes", "said"), [("1", False), ("2", True)])
def test_its_screen_says_how_many_workers_there_are(
    tmp_path: Path, processes: str, said: bool
) -> None:
    with running(tmp_path, "up", "--processes", processes) as up:
        assert up.url
        assert ("Workers    2 processes" in up.log.read_text()) is said
        assert up.stop() == 0
