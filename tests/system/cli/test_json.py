"""Every command that says something says it in JSON too; those about jobs work elsewhere too."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Curtsy
from cli.running import environment, running, wait_for
from cli.test_help import LEAVES, PATHS
from curtsy.demo.process import PracticeProcess

NO_JSON = {
    "curtsy db downgrade": "always ends with a sentence that says how to go back",
    "curtsy api": "says nothing on standard output; CURTSY_LOG_FORMAT=json makes its log JSON",
    "curtsy worker": "the same",
    "curtsy scheduler": "the same",
}
LOCAL = {
    "curtsy up": "starts a process here",
    "curtsy stop": "ends a process here",
    "curtsy api": "is a service itself",
    "curtsy worker": "is a service itself",
    "curtsy scheduler": "is a service itself",
    "curtsy demo": "is about this machine alone",
    "curtsy examples": "writes files here",
    "curtsy process-dlq": "is done where the database is",
    "curtsy keys add": "is done where the database is",
    "curtsy keys list": "is done where the database is",
    "curtsy keys rotate": "is done where the database is",
    "curtsy keys revoke": "is done where the database is",
    "curtsy keys webhook-secret": "is done where the database is",
    "curtsy backup": "is done where the database is",
    "curtsy restore": "is done where the database is",
    "curtsy db upgrade": "is about the database itself",
    "curtsy db vacuum": "is about the database itself",
    "curtsy db check": "is about the database itself",
    "curtsy db downgrade": "is about the database itself",
    "curtsy config check": "is about the settings here",
}


def _options(path: str) -> set[str]:
    return {name for param in PATHS[path].params for name in param.opts}


def test_every_command_has_json() -> None:
    assert {path for path in LEAVES if "--json" not in _options(path)} == set(NO_JSON)


def test_every_command_that_talks_to_a_service_has_url() -> None:
    assert {path for path in LEAVES if "--url" not in _options(path)} == set(LOCAL)


@pytest.mark.parametrize("remote", [False, True], ids=["local", "remote"])
def test_commands_about_jobs_print_json_and_nothing_else(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path, remote: bool
) -> None:
    good, bad = pages.url(0, "/page/1"), pages.url(1, "/missing/2")
    with running(tmp_path, "up", max_retry_attempts=0) as up:
        where = ("--url", up.url) if remote else ()

        def said(*arguments: str, code: int = 0) -> list[dict[str, object]]:
            told = quick(*arguments, "--json", *where)
            assert told.exit_code == code, told
            return told.lines_of_json

        found = said("scrape", good, bad, "-q", code=3)
        assert {one["url"] for one in found} == {good, bad}, "in the order in which they end"
        [made] = said("submit", good, bad, "--ignore-cache")
        job = str(made["job_id"])
        [status] = said("status", job, "--wait", code=3)
        assert (status["completed"], status["failed"]) == (1, 1)
        assert ["error" in one for one in said("results", job)] == [False, True]
        assert len(said("jobs")[0]["jobs"]) == 2  # type: ignore[arg-type]
        assert said("retry", job)[0]["job_id"] == job
        said("status", job, "--wait", code=3)
        assert said("dead-letters")[0]["groups"]
        assert said("dead-letters", "--resolve", "--yes")[0]["letters"]
        [ended] = said("submit", bad, "--ignore-cache", "--wait", code=4)
        assert ended["failed"] == 1
        assert said("doctor")[0]["dead_letters"]
        [waiting] = said("submit", "http://a.invalid/")
        assert said("cancel", str(waiting["job_id"]), "--purge")[0]["job_id"] == waiting["job_id"]


@pytest.mark.parametrize("remote", [False, True], ids=["local", "remote"])
def test_pause_and_resume_print_json(quick: Curtsy, tmp_path: Path, remote: bool) -> None:
    quick("db", "upgrade")
    with running(tmp_path, "api") as api:
        where = ("--url", api.url) if remote else ()
        job = quick("submit", "http://a.example/", "--json", *where).json["job_id"]
        for command in ("pause", "resume", "cancel"):
            assert quick(command, job, "--json", *where).json["job_id"] == job


def test_commands_about_this_machine_print_json_and_nothing_else(
    curtsy: Curtsy, tmp_path: Path
) -> None:
    assert curtsy("db", "upgrade", "--json").json["upgraded"] is True
    assert curtsy("db", "check", "--json").json["current"] is True
    assert {row["name"] for row in curtsy("config", "check", "--json", colour="red").json}
    assert curtsy("doctor", "--json").json["workers"] == []
    detach = [sys.executable, "-m", "curtsy", "up", "--detach", "--json"]
    told = subprocess.run(detach, cwd=tmp_path, env=environment(api_port=0, lease_seconds=3),
                          capture_output=True, timeout=60)  # fmt: skip
    up = json.loads(told.stdout)
    assert up["status"] == "up"
    assert up["docs"] == f"{up['url']}/docs"
    assert curtsy("stop", "--json").json == {"status": "stopped", "process": up["process"]}


def test_up_says_a_line_at_its_start_and_one_at_its_end(tmp_path: Path) -> None:
    with running(tmp_path, "up", "--json", log_level="ERROR") as up:
        wait_for(lambda: up.log.read_text().endswith("\n"), lambda: "it says nothing")
        [start] = [json.loads(line) for line in up.log.read_text().splitlines()]
        assert (start["status"], start["process"]) == ("up", up.process.pid)
        assert up.stop() == 0
    end = json.loads(up.log.read_text().splitlines()[1])
    assert (end["status"], end["recorded"]) == ("stopped", 0)
