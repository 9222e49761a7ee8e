"""Sites and schedules in files: applied when a process starts, and refused where they are wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Curtsy
from cli.running import ask, running, wait_for
from curtsy.demo.process import PracticeProcess

EXAMPLES = Path(__file__).parents[3] / "src/curtsy/demo/examples"
OWN = """
from curtsy.scrapers import Found, Page, scraper


@scraper(key=["id"])
def my_board(page: Page) -> Found:
    cards = page.css("li.job")
    page.log(f"{len(cards)} cards for {page.params['search']['search_term']}")
    return Found(records=[{"id": card.attributes["data-id"]} for card in cards])
"""


def at(pages: PracticeProcess, text: str) -> str:
    """The examples, at the practice site that is open here."""
    for host in range(3):
        here = pages.url(host, "/").removeprefix("http://").rstrip("/")
        text = text.replace(f"127.0.1.{host + 1}:8000", here)
    return text.replace("min_pause_seconds = 2", "min_pause_seconds = 0").replace(
        "max_pause_seconds = 8", "max_pause_seconds = 0"
    )


@pytest.fixture(scope="module")
def pages() -> Iterator[PracticeProcess]:
    with PracticeProcess(hosts=3) as site:
        yield site


def test_one_command_puts_an_example_in_place(
    curtsy: Curtsy, tmp_path: Path, pages: PracticeProcess
) -> None:
    """Policy, site and timetable of an office have one name and fit together."""
    assert "travel" in curtsy("examples").out
    curtsy("examples", "travel", "--into", str(tmp_path))
    for file in tmp_path.glob("*.toml"):
        file.write_text(at(pages, file.read_text()))
    with running(tmp_path, "up", allow_addresses="127.0.0.0/8", sync_timeout=60) as up:
        offices = {"us_state_dept": (60, 120), "uk_foreign_office": (120, 120),
                   "canada_travel": (100, 720)}  # fmt: skip
        for name, (per_hour, every) in offices.items():
            source = ask("GET", f"{up.url}/sources/{name}").json
            assert source["said"]["requests_per_hour"] == per_hour
            site = ask("GET", f"{up.url}/sites/{name}").json["declared"]
            assert site["search_url"].split("/")[2] in source["hosts"]
            assert ask("GET", f"{up.url}/schedules/{name}").json["every_minutes"] == every
            asked = {"site_name": name, "results_wanted": 15}
            ended = ask("POST", f"{up.url}/jobs/scrape?mode=sync", asked).json["data"]
            assert ended["status"] == "succeeded", ended
            assert len(ended["results"]) > 10
            source = ask("GET", f"{up.url}/sources/{name}").json
            assert source["today"]["requests"] > 0, "its policy paced the run"
        assert up.stop() == 0


def test_an_example_replaces_no_file_unasked(curtsy: Curtsy, tmp_path: Path) -> None:
    (tmp_path / "sites.toml").write_text("# mine")
    refused = curtsy("examples", "travel", "--into", str(tmp_path))
    assert "sites.toml already; nothing was written" in refused.sentence()
    assert [file.name for file in tmp_path.glob("*.toml")] == ["sites.toml"]
    assert (tmp_path / "sites.toml").read_text() == "# mine"
    assert "sites.toml" in curtsy("examples", "travel", "--into", str(tmp_path), "--force").out
    assert "us_state_dept" in (tmp_path / "sites.toml").read_text()
    assert "there are travel, jobs, monitoring" in curtsy("examples", "nosuch").sentence()


def test_the_examples_run_as_they_are(
    curtsy: Curtsy, tmp_path: Path, pages: PracticeProcess
) -> None:
    sites = (EXAMPLES / "jobs/sites.toml").read_text() + (
        EXAMPLES / "travel/sites.toml"
    ).read_text()
    (tmp_path / "sites.toml").write_text(at(pages, sites))
    (tmp_path / "schedules.toml").write_text((EXAMPLES / "travel/schedules.toml").read_text())
    with running(tmp_path, "up", allow_addresses="127.0.0.0/8", sync_timeout=60) as up:
        assert up.said("sites_applied")["declared"] == [
            "canada_travel", "job_board", "uk_foreign_office", "us_state_dept"]  # fmt: skip
        kept = {one["name"]: one for one in ask("GET", f"{up.url}/schedules").json["schedules"]}
        assert {name: one.get("every_minutes", one.get("cron")) for name, one in kept.items()} == {
            "us_state_dept": 120, "uk_foreign_office": 120, "canada_travel": 720, "job_board": 60,
            "watch over health": 30, "retry dead letters": 60, "write a report": 360,
            "clean up": "0 3 * * *",
        }  # fmt: skip
        asked = ("schedule", "--source", "uk_foreign_office", "--country", "france")
        france = curtsy(*asked, "--json", "--url", up.url).json
        assert [one["schedule"] for one in france["queued"]] == ["uk_foreign_office"]
        no_site = curtsy("schedule", "--country", "france", "--source", "job", "--url", up.url)
        assert "There is no site 'job' that has countries" in no_site.sentence()
        for name, search in (("job_board", "python"), ("us_state_dept", None)):
            body = {"site_name": name, "results_wanted": 20} | (
                {"search_term": search} if search else {}
            )
            run = ask("POST", f"{up.url}/jobs/scrape?mode=sync", body).json["data"]
            assert (run["status"], len(run["results"])) == ("succeeded", 20), run
        where = (run["run_id"], "--url", up.url)
        assert f"{run['run_id']}: succeeded, 1 of 1 page" in curtsy("status", *where).out
        assert f"{run['run_id']}  succeeded  1 of 1" in curtsy("jobs", "--url", up.url).out
        assert curtsy("results", *where, "--format", "json").lines_of_json == run["results"]
        assert "country: Argentina" in curtsy("results", *where, "--format", "text").out
        assert up.stop() == 0
    with running(tmp_path, "up", allow_addresses="127.0.0.0/8") as up:
        up.said("api_started")
        assert not [line for line in up.lines() if line["event"] == "sites_applied"]
        assert up.stop() == 0


def test_a_scraper_of_your_own_runs_a_site_on_its_schedule(
    tmp_path: Path, pages: PracticeProcess
) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    url = pages.url(0, "/board/search?q={search_term}&page={page}")
    (tmp_path / "sites.toml").write_text(
        f'[mine]\nsearch_url = "{url}"\nscraper = "my_board"\nresults_per_page = 10\n'
        "min_pause_seconds = 0\nmax_pause_seconds = 0\ninterval_minutes = 60\n"
        'defaults = { search_term = "python developer", results_wanted = 20 }\n'
    )
    with running(tmp_path, "up", allow_addresses="127.0.0.0/8", scrapers="mine.py") as up:
        [site] = ask("GET", f"{up.url}/jobs/sites").json["data"]["sites"]
        assert site["site_name"] == "mine"
        job = ask("POST", f"{up.url}/schedules/mine/run").json["job_id"]

        def ended() -> object:
            run = ask("GET", f"{up.url}/jobs/scrape/{job}").json["data"]
            return run if run["finished_at"] else None

        run = wait_for(ended, lambda: f"{job} has not ended")
        assert (run["status"], len(run["results"])) == ("succeeded", 20)
        assert run["changes"] == {"new": 20, "changed": 0, "same": 0, "removed": 0}
        for event, status in (("run_queued", "queued"), ("run_ended", "succeeded")):
            line = up.said(event)
            assert (line["site_name"], line["run_id"], line["status"]) == ("mine", job, status)
            assert (line["task_id"], "ts" in line) == (run["task_id"], True)
        assert up.said("run_started")["status"] == "running", "also if its first flush ends it"
        assert up.stop() == 0


def test_the_log_follows_a_run_from_its_start_to_its_end(
    tmp_path: Path, pages: PracticeProcess
) -> None:
    url = pages.url(0, "/board/flaky/search?q={search_term}&page={page}")
    (tmp_path / "sites.toml").write_text(
        f'[flaky]\nsearch_url = "{url}"\nscraper = "my_board"\nresults_per_page = 10\n'
        "min_pause_seconds = 0\nmax_pause_seconds = 0\nmax_retries = 1\n"
        'interval_minutes = 60\ndefaults = { search_term = "python developer" }\n'
    )
    (tmp_path / "mine.py").write_text(OWN)
    with running(
        tmp_path, "up", allow_addresses="127.0.0.0/8", scrapers="mine.py", retry_base="0.1",
        retry_cap="0.2",
    ) as up:  # fmt: skip
        job = ask("POST", f"{up.url}/schedules/flaky/run").json["job_id"]
        wait_for(
            lambda: ask("GET", f"{up.url}/jobs/scrape/{job}").json["data"]["finished_at"],
            lambda: f"{job} has not ended",
        )
        lines = {
            name: up.said(name)
            for name in ("run_queued", "run_started", "run_page_retried", "run_page_failed",
                         "run_ended")
        }  # fmt: skip
        assert {(line["site_name"], line["run_id"]) for line in lines.values()} == {("flaky", job)}
        assert len({line["task_id"] for line in lines.values()}) == 1
        assert lines["run_started"]["status"] == "running"
        assert "page=2" in lines["run_page_failed"]["url"]
        assert lines["run_page_failed"]["kind"] == lines["run_page_retried"]["kind"]
        assert lines["run_page_retried"]["again_at"]
        assert up.stop() == 0


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("sites.toml", "[a]\nsearch_url = 'https://a.example/{q}'", "unknown field {q}"),
        ("sites.toml", "[A]\nsearch_url = 'https://a.example/'\nscraper = 'x'",
         "is not a valid site name"),
        ("sites.toml", "x = 1", "is outside of any table"),
        ("sites.toml", "[a]\nserch_url = 'https://a.example/'", "did you mean 'search_url'?"),
        ("sites.toml", "[a", "cannot be read as TOML"),
        ("schedules.toml", "[a]\ncron = '0 0 30 2 *'\npayload = { duty = 'cleanup' }", "30"),
        ("schedules.toml", "[a]\npayload = { duty = 'cleanup' }", "Give exactly one of cron"),
        ("schedules.toml", "[a]\ncron = '@daily'\npayload = { duty = 'peace' }", "payload.duty"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_a_sentence(
    curtsy: Curtsy, tmp_path: Path, file: str, text: str, sentence: str
) -> None:
    (tmp_path / file).write_text(text)
    for command in (("up",), ("config", "check")):
        assert sentence in curtsy(*command).sentence()


def test_what_is_no_longer_in_the_file_goes_and_what_was_changed_since_stays(
    tmp_path: Path,
) -> None:
    file = tmp_path / "schedules.toml"
    daily = "cron = '@daily'\npayload = { duty = 'cleanup' }\n"
    file.write_text(f"[one]\n{daily}[two]\n{daily}")
    with running(tmp_path, "up") as up:
        ask("PATCH", f"{up.url}/schedules/one", {"cron": "0 5 * * *"})
        ask(
            "POST",
            f"{up.url}/schedules",
            {"name": "mine", "cron": "@daily", "payload": {"duty": "cleanup"}},
        )
        assert up.stop() == 0
    file.write_text(f"[one]\n{daily}")
    with running(tmp_path, "up") as up:
        kept = {
            one["name"]: one["cron"]
            for one in ask("GET", f"{up.url}/schedules").json["schedules"]
            if not one["name"].startswith("maintenance:")  # the timetable is not of the file
        }
        assert kept == {"one": "0 5 * * *", "mine": "@daily"}
        assert up.stop() == 0
