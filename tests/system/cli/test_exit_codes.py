"""Exit codes of commands that wait for a job, and of those that look for what is wrong."""

import sqlite3
from pathlib import Path

import pytest

from cli.conftest import Curtsy
from cli.running import running
from curtsy.demo.process import PracticeProcess

GONE = "The host answered 404 Not Found."


@pytest.mark.parametrize("remote", [False, True], ids=["local", "remote"])
def test_every_wait_for_a_job_ends_as_the_job_ended_and_says_why(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path, remote: bool
) -> None:
    good, bad = pages.url(0, "/page/31"), pages.url(0, "/missing/32")
    with running(tmp_path, "up", max_retry_attempts=0) as up:
        where = ("--url", up.url) if remote else ()
        made = quick("submit", bad, "--wait", "--json", *where)
        job = made.json["job_id"]
        crawl = quick("crawl", bad, "--depth", "0", "--wait", *where)
        for told in (made, crawl, quick("status", job, "--wait", *where),
                     quick("retry", job, "--wait", *where)):  # fmt: skip
            assert told.exit_code == 4, told
            assert f"{bad}: {GONE}" in told.err.splitlines(), told
        assert quick("status", job, *where).exit_code == 0, "it was only asked for its status"
        some = quick("submit", good, bad, "--wait", *where)
        assert (some.exit_code, f"{bad}: {GONE}" in some.err) == (3, True)
        assert quick("submit", good, "--wait", *where).exit_code == 0
        add = ("schedules", "add", "bad", "--every", "24h", "--fetch", bad)
        assert quick(*add, *where).exit_code == 0
        assert quick("schedules", "run", "bad", "--wait", *where).exit_code == 4


def test_a_job_with_many_failures_names_the_first_and_counts_the_others(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    bad = [pages.url(n % 2, f"/missing/{n}") for n in range(8)]
    with running(tmp_path, "up", max_retry_attempts=0) as up:
        up.said("worker_started")
        told = quick("submit", *bad, "--wait", "--json")
    assert told.json["failed"] == 8
    lines = [line for line in told.err.splitlines() if not line.startswith("{")]
    assert lines[:5] == [f"{url}: {GONE}" for url in bad[:5]]
    assert lines[5] == (f"and 3 more pages that failed: `curtsy results {told.json['job_id']}` "
                        "shows all.")  # fmt: skip


def test_the_doctor_names_what_is_wrong_and_ends_with_an_error(
    quick: Curtsy, tmp_path: Path
) -> None:
    quick("submit", "http://a.example/")
    problem = "Pages wait and no worker is up: `curtsy up` or `curtsy worker` starts one."
    told = quick("doctor")
    assert told.exit_code == 1
    assert f"Problem: {problem}" in told.out.splitlines()
    told = quick("doctor", "--json")
    assert (told.exit_code, told.json["problems"]) == (1, [problem])
    with running(tmp_path, "api") as api:
        told = quick("doctor", "--json", "--url", api.url)
        assert told.exit_code == 1
        assert told.json["problems"] == [problem.replace("Pages", "Jobs")]
        assert f"Problem: {told.json['problems'][0]}" in told.err
    with running(tmp_path, "worker") as worker:
        worker.said("worker_started")
        told = quick("doctor", "--json")
        assert (told.exit_code, told.json["problems"]) == (0, [])


def test_the_doctor_misses_a_scheduler_once_a_schedule_is_late(quick: Curtsy) -> None:
    add = ("schedules", "add", "mine", "--every", "24h", "--fetch", "http://a.example/")
    assert quick(*add).exit_code == 0
    assert quick("doctor").exit_code == 0
    with sqlite3.connect("curtsy.db") as database:
        database.execute("UPDATE schedules SET look_at = 1, next_fire_at = 1")
    database.close()
    told = quick("doctor")
    assert told.exit_code == 1
    assert "Problem: Schedules are due and no scheduler is up" in told.out


def test_what_is_not_built_is_no_success(quick: Curtsy) -> None:
    quick("db", "upgrade")
    told = quick("export", "job_1")
    assert (told.exit_code, told.out) == (5, "")
    assert "is not built yet" in told.err
