"""Sites and dead letters at the command line, and webhooks of the jobs that commands make."""

import re
import sqlite3
from pathlib import Path

from cli.conftest import Curtsy
from cli.running import running
from curtsy.demo.process import PracticeProcess

EXAMPLES = Path(__file__).parents[3] / "src/curtsy/demo/examples"
HOOK = "http://127.0.0.1:99/hook?token=t"


def _declare(folder: Path, url: str) -> None:
    (folder / "sites.toml").write_text(
        f'[board]\nsearch_url = "{url}?q={{search_term}}"\ninterval_minutes = 0\n'
        f'country_url = "{url}/{{country}}"\n'
        '[board.recipe]\nrecord = "article"\nfields = {title = "h1"}\n'
    )


def test_a_site_is_listed_shown_run_and_its_records_are_printed(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    declared = (EXAMPLES / "jobs/sites.toml").read_text()
    [address] = re.findall(r'search_url = "(https?://[^/]+)', declared)
    quickly = declared.replace(address, pages.url(0, "").rstrip("/"))
    (tmp_path / "sites.toml").write_text(quickly)
    with running(tmp_path, "up", max_retry_attempts=0) as up:
        assert up.url
        listed = quick("sites", "list")
        assert listed.out.splitlines()[0].split()[:2] == ["site", "when"]
        assert "search_term" in listed.out
        assert quick("sites", "list", "--json").json["sites"][0]["site_name"] == "job_board"
        assert "search?" in quick("sites", "show", "job_board").out
        none = quick("sites", "records", "job_board").out
        assert none.startswith("job_board has no records yet")
        ran = quick("sites", "run", "job_board", "--search-term", "python developer",
                    "--results", "5", "--wait", "--json")  # fmt: skip
        assert (ran.exit_code, ran.json["site_name"]) == (0, "job_board")
        found = quick("results", ran.json["run_id"], "--json").lines_of_json
        assert len(found) == 5
        records = quick("sites", "records", "job_board").lines_of_json
        assert {one["_key"] for one in records} >= {one["_key"] for one in found}
        assert quick("sites", "records", "job_board", "--json").json["records"][0]["key"]
    assert quick("sites", "show", "nosuch").sentence().endswith("see `curtsy sites list`.")


def test_a_dead_letter_is_shown_with_every_attempt(quick: Curtsy, pages: PracticeProcess) -> None:
    url = pages.url(0, "/missing/71")
    assert quick("scrape", url, "-q").exit_code == 4
    [letter] = quick("dead-letters", "--json").json["letters"]
    shown = quick("dead-letters", "show", str(letter["id"])).out
    assert url in shown
    assert "The host answered 404 Not Found." in shown
    assert "Attempts" in shown
    assert quick("dead-letters", "show", str(letter["id"]), "--json").json["history"]
    sentence = quick("dead-letters", "show", "99").sentence()
    assert sentence == "curtsy: There is no dead letter '99': see `curtsy dead-letters`."


def test_the_webhook_of_a_command_is_that_of_its_job(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    _declare(tmp_path, "http://b.example/")
    page = pages.url(0, "/page/81")
    with running(tmp_path, "up", worker_slots=1) as up:
        assert up.url
        hook = ("--webhook", HOOK)
        quick("scrape", page, "-q", *hook)
        quick("submit", "http://a.example/1", *hook)
        quick("crawl", "http://a.example/2", *hook)
        quick("sites", "run", "board", "--search-term", "x", *hook)
        quick("schedules", "add", "one", "--every", "2h", "--fetch", "http://a.example/3", *hook)
        quick("schedules", "run", "one")
        quick("schedules", "add", "two", "--every", "2h", "--fetch", "http://a.example/4")
        quick("schedules", "edit", "two", *hook)
        quick("schedules", "run", "two")
        assert "needs --country" in quick("schedule", *hook).sentence(2)
        duty = quick("schedules", "add", "d", "--every", "2h", "--duty", "cleanup", *hook)
        assert "a duty makes none" in duty.sentence(2)
        with sqlite3.connect(tmp_path / "curtsy.db") as database:
            found = database.execute("SELECT webhook_url FROM jobs").fetchall()
    assert found == [(HOOK,)] * 6
