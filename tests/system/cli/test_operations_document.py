"""The operations document at the command line: what its engine cannot do yet is named here, with
the part that will remove it."""

import re
import sqlite3
from pathlib import Path

import pytest

from cli.conftest import Curtsy
from cli.running import running
from cli.test_help import LEAVES
from curtsy.cli.commands.not_built import NOT_YET
from curtsy.demo.process import PracticeProcess

COMMANDS = {
    "schedule", "jobs", "metrics", "health", "dead-letters", "rate-limits", "cleanup",
    "generate-report", "process-dlq", "up", "api", "worker", "scheduler", "stop", "scrape",
    "submit", "crawl", "status", "results", "cancel", "retry", "logs", "watch", "sources",
    "schedules", "why", "plan", "export", "try", "discover", "keys", "doctor", "db", "demo",
}  # fmt: skip
EXPECTED_LATER = {"export": "export"}
"""Only ever taken from: what is built leaves this list and the program's."""


def test_every_command_of_the_contract_is_there() -> None:
    assert {path.split()[1] for path in LEAVES} >= COMMANDS


def test_what_comes_later_is_known_by_name() -> None:
    assert NOT_YET == EXPECTED_LATER


@pytest.mark.parametrize("asked", [["export", "job_1"]])
def test_what_comes_later_says_so_and_with_what(curtsy: Curtsy, asked: list[str]) -> None:
    for more in ([], ["--json"], ["--url", "http://127.0.0.1:9"]):
        sentence = curtsy(*asked, *more).sentence(5)
        part = EXPECTED_LATER[asked[0]]
        assert sentence == (f"curtsy: `curtsy {asked[0]}` is not built yet: "
                            f"it comes with the part {part!r}.")  # fmt: skip


@pytest.mark.parametrize("remote", [False, True], ids=["local", "remote"])
def test_health_is_a_word_and_an_exit_code(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path, remote: bool
) -> None:
    with running(tmp_path, "up") as up:
        where = ("--url", up.url) if remote else ()
        quick("submit", pages.url(0, "/page/1"), "--wait", *where)
        told = quick("health", "--json", *where)
        assert told.exit_code == 0, told
        facts = {name: told.json[name] for name in ("status", "store", "workers", "success_rate")}
        assert facts == {"status": "ok", "store": "ok", "workers": 1, "success_rate": 1.0}
        assert quick("health", *where).out.splitlines()[0].split() == ["Status", "ok"]
        found = quick("metrics", "--json", *where).json
        assert (found["workers"], found["attempts"]) == (1, 1)
        shown = quick("metrics", *where)
        assert {"high", "medium", "low"} <= {line.split()[0] for line in shown.out.split("\n")[:4]
                                             if line}  # fmt: skip
        assert up.stop() == 0
    told = quick("metrics", "--hours", "24")
    assert told.exit_code == 0, told
    assert told.out.startswith("The last 24 hours, as known from 20")
    assert re.search(r"^Pages +1 succeeded, 0 failed: 100.0 %", told.out, re.MULTILINE)
    assert quick("metrics", "--hours", "1", "--json").json["attempts"]["fetched"] == 1


def test_where_no_worker_lives_health_is_an_error(curtsy: Curtsy) -> None:
    curtsy("submit", "http://a.invalid/")
    told = curtsy("health", "--json")
    assert (told.exit_code, told.json["status"], told.json["waiting"]) == (1, "degraded", 1)


def test_a_cleanup_forgets_what_is_older_than_it_is_told(
    quick: Curtsy, pages: PracticeProcess
) -> None:
    quick("scrape", pages.url(0, "/page/1"), "-q")
    with sqlite3.connect("curtsy.db") as database:
        a_while_ago = "finished_at - 10 * 86400000, created_at = created_at - 10 * 86400000"
        database.execute(f"UPDATE jobs SET finished_at = {a_while_ago}")
    database.close()
    kept = quick("cleanup", "--days", "11", "--json").json["message"]
    assert kept.startswith("Deleted 0 jobs older than 11 days")
    assert quick("cleanup").out.startswith("Deleted 0 jobs older than 30 days")
    assert quick("cleanup", "--days", "9").out.startswith("Deleted 1 job older than 9 days")
    assert quick("jobs", "--json").json["jobs"] == []


def test_what_was_given_up_for_a_passing_reason_is_tried_again(
    quick: Curtsy, pages: PracticeProcess
) -> None:
    assert quick("scrape", pages.url(0, "/flaky/1/1"), "-q").exit_code == 4
    [job] = quick("jobs", "--json").json["jobs"]
    told = quick("process-dlq", "--json")
    assert told.json == {"message": "1 failed page is retried."}
    assert quick("process-dlq").out == "0 failed pages are retried.\n"
    status = quick("status", job["job_id"], "--json").json
    assert (status["failed"], status["status"]) == (0, "IN_PROGRESS")


def test_schedule_takes_the_documents_priorities_and_jobs_are_listed_by_source(
    quick: Curtsy, tmp_path: Path
) -> None:
    """9 is urgent there; here 1 is the first."""
    page = "http://a.example/1"
    quick("schedules", "add", "us_state_dept", "--every", "2h", "--fetch", page)
    quick("schedules", "add", "canada_travel", "--every", "12h", "--crawl", "http://b.example/")
    urgent = quick("schedule", "--source", "us_state_dept", "--priority", "9", "--json").json
    later = quick("schedule", "--source", "canada_travel", "--priority", "1", "--json").json
    assert "--priority" in quick("schedule", "--priority", "10").sentence(2)
    [us], [canada] = urgent["queued"], later["queued"]
    with sqlite3.connect(tmp_path / "curtsy.db") as database:
        found = database.execute(
            "SELECT j.public_id, i.priority FROM items i "
            "JOIN jobs j ON j.id = i.job_id ORDER BY j.id"
        ).fetchall()
        deep = database.execute("SELECT priority FROM crawls").fetchall()  # fmt: skip
    assert found == [(us["job_id"], 1), (canada["job_id"], 9)]
    assert deep == [(9,)], "also for the links that it follows"
    listed = quick("jobs", "--source", "a.example", "--json").json["jobs"]
    assert [job["id"] for job in listed] == [us["job_id"]]
    for word in ("retry", "dead_letter"):
        assert quick("jobs", "--status", word).out == "No job matches.\n"
    sentence = quick("jobs", "--source", "nosuch").sentence()
    assert sentence == "curtsy: There is no source 'nosuch': see `curtsy sources list`."
