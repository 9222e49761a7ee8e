"""Commands about jobs, on a local file and against a running service."""

import json
import threading
from pathlib import Path

import pytest

from cli.conftest import Curtsy, Site, complaints
from cli.running import ask, running
from curtsy.demo.process import PracticeProcess


def test_scrape_prints_articles_and_says_what_failed(quick: Curtsy, pages: PracticeProcess) -> None:
    urls = [pages.url(0, "/page/1"), pages.url(1, "/page/2"), pages.url(0, "/missing/3")]
    told = quick("scrape", *urls)
    assert told.exit_code == 3
    assert told.out.startswith(f"Page 1\n{urls[0]}\n\n")
    assert f"Page 2\n{urls[1]}" in told.out
    assert f"{urls[2]}: The host answered 404 Not Found." in told.err
    assert "2 of 3 pages, 1 failed." in told.err


def test_scraped_again_it_comes_from_the_store(quick: Curtsy, pages: PracticeProcess) -> None:
    url = pages.url(0, "/page/11")
    assert quick("scrape", url).exit_code == 0
    before = len(pages.entries())
    told = quick("scrape", url, "--format", "json")
    assert "1 of 1 page (1 from the store)." in told.err
    assert json.loads(told.out)["cached"] is True
    assert len(pages.entries()) == before
    assert quick("scrape", url, "--max-age", "0").exit_code == 0
    assert len(pages.entries()) > before


def test_scrape_reads_a_file_and_writes_one(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    one, two = pages.url(0, "/page/21"), pages.url(0, "/page/22")
    Path("urls.txt").write_text(f"# mine\n{one}\n\n{two}\n{one}#again\n")
    told = quick("scrape", "--file", "urls.txt", "--out", "articles.jsonl", "--quiet")
    assert (told.exit_code, told.out, told.err) == (0, "", "")
    lines = [json.loads(line) for line in (tmp_path / "articles.jsonl").read_text().splitlines()]
    assert [line["url"] for line in lines] == [one, two]
    assert quick("scrape", one, "--out", "article.md", "-q").exit_code == 0
    assert (tmp_path / "article.md").read_text().startswith("# Page 21\n")


def test_a_file_of_results_is_kept_until_there_is_another(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    out = tmp_path / "articles.jsonl"
    out.write_text("what I had\n")
    assert "is not a URL" in quick("scrape", "not a url", "--out", str(out)).sentence()
    assert out.read_text() == "what I had\n"
    assert quick("scrape", pages.url(0, "/page/41"), "--out", str(out), "-q").exit_code == 0
    assert json.loads(out.read_text())["title"] == "Page 41"
    assert [path.name for path in tmp_path.glob("articles*")] == ["articles.jsonl"]
    nowhere = tmp_path / "no" / "where.jsonl"
    assert "cannot be written" in quick("scrape", pages.url(0, "/page/41"), "--out",
                                        str(nowhere)).sentence()  # fmt: skip


def test_a_scrape_of_which_all_failed_says_so(quick: Curtsy, pages: PracticeProcess) -> None:
    assert quick("scrape", pages.url(0, "/missing/1")).exit_code == 4


def test_a_failure_is_told_once_also_to_who_wants_quiet(
    quick: Curtsy, pages: PracticeProcess
) -> None:
    url = pages.url(0, "/missing/2")
    told = quick("scrape", url, "-q")
    assert complaints(told.err) == [f"{url}: The host answered 404 Not Found."]
    told = quick("scrape", url, "--json")
    assert told.json["kind"] == "gone"
    assert complaints(told.err) == ["0 of 1 page, 1 failed."], "the line of JSON holds it"


def test_loopback_is_refused_unless_it_is_allowed(curtsy: Curtsy) -> None:
    sentence = curtsy("scrape", "http://127.0.0.1/").sentence()
    assert "which is this machine: ALLOW_ADDRESSES does not name it" in sentence


@pytest.mark.parametrize("remote", [False, True], ids=["local", "remote"])
def test_a_job_from_its_submit_to_its_end(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path, remote: bool
) -> None:
    good, bad = pages.url(0, "/page/31"), pages.url(1, "/missing/32")
    with running(tmp_path, "up", max_retry_attempts=0) as up:
        at = {"url": up.url} if remote else {}
        made = quick("submit", good, bad, "--name", "mine", "--tag", "a", "--json", **at).json
        job = made["job_id"]
        ended = quick("status", job, "--wait", "--json", **at)
        assert (ended.json["completed"], ended.json["failed"], ended.exit_code) == (1, 1, 3)
        assert "COMPLETED, 1 of 2 pages, 1 failed" in quick("status", job, **at).out
        results = quick("results", job, "--format", "json", **at)
        found = [json.loads(line) for line in results.out.splitlines()]
        assert [one["url"] for one in found] == [good, bad]
        assert f"{bad}: The host answered 404" in quick("results", job, **at).err
        listed = quick("jobs", "--tag", "a", **at).out
        assert job in listed
        assert "mine" in listed
        letters = quick("dead-letters", **at).out
        assert "the page does not exist" in letters
        assert (
            "1 dead letter retried, 1 page to fetch again."
            in quick("dead-letters", "--retry", "--yes", "--kind", "gone", **at).out
        )
        quick("status", job, "--wait", **at)
        assert quick("retry", job, **at).out == "Job retried. 1 failed page is queued again.\n"
        assert quick("status", job, "--wait", **at).exit_code == 3
        assert "Job purged." in quick("cancel", job, "--purge", **at).out
        assert "There is no job" in quick("status", job, **at).sentence()


def test_a_job_that_nobody_works_on_can_be_paused_and_cancelled(quick: Curtsy) -> None:
    job = quick("submit", "http://a.example/", "--json").json["job_id"]
    assert quick("pause", job).out == "Job paused. 1 page is on hold.\n"
    assert quick("status", job).out.endswith("1 pending, paused\n")
    assert quick("resume", job).out == "Job resumed. 1 page is queued again.\n"
    assert "Removed 1 pending task" in quick("cancel", job).out
    assert "it cannot be cancelled" in quick("cancel", job).sentence()


def test_a_job_of_the_fetch_door_is_waited_for_and_shown_too(
    quick: Curtsy, site: Site, tmp_path: Path
) -> None:
    with running(tmp_path, "up") as up:
        job = ask("POST", f"{up.url}/jobs", {"url": f"{site.url}/slow"}).json["id"]
        assert quick("status", job).out == f"{job}: queued\n"
        threading.Timer(0.5, site.let_go.set).start()
        assert quick("status", job, "--wait").out == f"{job}: completed\n"
        assert "hello" in quick("results", job).out


def test_who_submits_where_nobody_fetches_is_told(quick: Curtsy, tmp_path: Path) -> None:
    told = quick("submit", "http://a.example/", "--json")
    assert told.json["new_articles"] == 1
    assert "No worker is up, so nothing is fetched yet: `curtsy up` starts one." in told.err
    with running(tmp_path, "up") as up:
        up.said("worker_started")
        assert complaints(quick("submit", "http://a.example/2").err) == []


def test_a_plan_without_a_worker_says_what_its_prediction_needs(
    quick: Curtsy, tmp_path: Path
) -> None:
    out = quick("plan", "http://a.example/1").out
    assert "No worker is running, so nothing is fetched." in out
    assert ", if a worker is started now and nothing else is submitted." in out
    with running(tmp_path, "up") as service:
        out = quick("plan", "http://a.example/1", "--url", service.url).out
        assert ", if nothing else is submitted." in out


def test_results_of_a_job_that_goes_on_say_so(quick: Curtsy) -> None:
    job = quick("submit", "http://a.example/", "--json").json["job_id"]
    assert complaints(quick("results", job).err) == ["0 of 1 page so far; the job goes on."]


def test_dead_letters_are_not_settled_without_a_word(quick: Curtsy, pages: PracticeProcess) -> None:
    assert quick("scrape", pages.url(0, "/missing/61"), "-q").exit_code == 4
    sentence = quick("dead-letters", "--retry").sentence(2)
    assert "This would retry 1 dead letter: without a terminal, confirm it with --yes." in sentence
    assert quick("dead-letters", "--resolve", "--yes", "--json").json["letters"] == 1
    assert (
        quick("dead-letters", "--retry").out == "0 dead letters retried, 0 pages to fetch again.\n"
    )
    assert quick("dead-letters").out == "There are no dead letters.\n"


def test_the_list_says_what_every_job_is_and_its_state_in_one_vocabulary(
    quick: Curtsy, tmp_path: Path
) -> None:
    """Named or not, of any door, by hand or by a schedule that has not run yet."""
    (tmp_path / "sites.toml").write_text(
        '[board]\nsearch_url = "http://b.example/?q={search_term}"\ninterval_minutes = 0\n'
        '[board.recipe]\nrecord = "li"\nfields = {title = "a"}\n'
    )
    quick("db", "upgrade")
    with running(tmp_path, "api") as up:
        for path, body in (
            ("/jobs", {"url": "http://a.example/fetched"}),
            ("/jobs/submit", {"articles": [{"url": f"http://a.example/{n}"} for n in (1, 2, 3)]}),
            ("/jobs/submit", {"articles": [{"url": "http://a.example/4"}], "name": "mine"}),
            ("/crawl", {"spider": "article", "start_urls": ["http://a.example/start"]}),
            ("/crawl", {"spider": "article", "start_urls": ["http://a.example/later"],
                        "interval": "0 9 * * *"}),
            ("/jobs/scrape", {"site_name": "board", "search_term": "python"}),
        ):  # fmt: skip
            assert ask("POST", up.url + path, body).status < 300, path
        paused = ask("GET", f"{up.url}/jobs?q=mine").json["jobs"][0]["id"]
        ask("POST", f"{up.url}/jobs/{paused}/pause")
    lines = quick("jobs").out.splitlines()
    assert lines[0].split() == ["job", "status", "pages", "failed", "created", "what"]
    assert [line.split()[1] for line in lines[1:]] == [
        "queued", "scheduled", "queued", "paused", "queued", "queued"
    ]  # fmt: skip
    assert [line.partition("Z  ")[2] for line in lines[1:]] == [
        "board", "http://a.example/later", "http://a.example/start", "mine",
        "http://a.example/1 and 2 more", "http://a.example/fetched",
    ]  # fmt: skip
    words = {"id", "door", "state", "status", "name", "total", "completed", "failed",
             "created_at", "finished_at"}  # fmt: skip
    assert all(job.keys() >= words for job in quick("jobs", "--json").json["jobs"])
