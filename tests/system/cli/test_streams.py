"""Crawls, logs and events on the command line, on a local file and against a service."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Curtsy
from cli.running import environment, running, wait_for
from curtsy.demo.process import PracticeProcess


@pytest.mark.parametrize("remote", [False, True], ids=["local", "remote"])
def test_a_crawl_and_its_log(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path, remote: bool
) -> None:
    start = pages.url(0, "/news/")
    with running(tmp_path, "up", max_retry_attempts=0) as up:
        where = ("--url", up.url) if remote else ()
        options = ("--depth", "1", "--max-pages", "6", "--spider", "raw")
        told = quick("crawl", start, *options, "--wait", "--json", *where)
        ended = told.json
        assert (ended["door"], ended["total_pages"]) == ("crawl", 6), told
        job = ended["job_id"]
        again = quick("crawl", start, *options, *where)
        assert again.out.startswith(f"{job}: a crawl (the same as at ")
        assert "of 6 pages" in quick("status", job, *where).out
        [row] = [line for line in quick("jobs", *where).out.splitlines() if job in line]
        assert " of 6 " in row
        lines = quick("logs", "-f", job, "--json", *where).lines_of_json
        assert lines[0]["msg"].startswith("Queued: 1 page")
        assert lines[-1]["msg"].startswith("Done: ")
        shown = quick("logs", job, *where).out
        assert f"Fetched {start} (200, " in shown
        assert "Followed 5 links: 6 pages now" in shown
        assert len(shown.splitlines()) == len(lines)


def test_the_log_of_a_job_that_goes_on_ends_where_it_is(quick: Curtsy) -> None:
    job = quick("submit", "http://a.example/", "--json").json["job_id"]
    told = quick("logs", job)
    assert told.exit_code == 0
    assert told.out.count("\n") == 1


def test_events_are_watched_until_somebody_has_seen_enough(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    with running(tmp_path, "up") as up:
        assert up.url
        log = tmp_path / "watch.log"
        with log.open("wb") as to:
            watching = subprocess.Popen(
                [sys.executable, "-m", "curtsy", "watch", "--json"], cwd=tmp_path,
                env=environment(lease_seconds=3), stdout=to,
            )  # fmt: skip
        try:

            def seen() -> list[str]:
                events = [json.loads(line) for line in log.read_text().splitlines()]
                return [event["event"] for event in events if event["job_id"] in jobs]

            jobs: list[str] = []

            def heard_one() -> bool:
                url = pages.url(0, f"/page/{90 + len(jobs)}")
                jobs.append(quick("submit", url, "--json").json["job_id"])
                return "job_queued" in seen()

            wait_for(heard_one, lambda: "it watches nothing")
            wait_for(lambda: "job_finished" in seen(), lambda: str(seen()))
            watching.send_signal(signal.SIGINT)
            assert watching.wait(timeout=60) == 130
        finally:
            watching.kill()
            watching.wait()
    assert "There is no job" in quick("watch", "job_000000000000").sentence()


def test_a_job_that_has_ended_is_not_watched(quick: Curtsy) -> None:
    job = quick("submit", "http://a.example/", "--json").json["job_id"]
    quick("cancel", job)
    told = quick("watch", job)
    assert (told.exit_code, told.out) == (0, "")
    assert f"{job} has ended: cancelled." in told.err
