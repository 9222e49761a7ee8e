"""Commands about jobs, on a local file and against a running service."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Curtsy, Told
from cli.running import running
from curtsy.demo.process import PracticeProcess

QUICK = {"allow_addresses": "127.0.0.0/8", "min_delay_seconds": 0.02, "max_retry_attempts": 0,
         "lease_seconds": 3}  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> Iterator[PracticeProcess]:
    with PracticeProcess(hosts=2) as site:
        yield site


@pytest.fixture
def quick(curtsy: Curtsy) -> Curtsy:
    def call(*arguments: str, **settings: Any) -> Told:
        return curtsy(*arguments, **(QUICK | settings))

    return call


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
    assert "1 of 1 pages (1 from the store)." in told.err
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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["scrape"], "No URLs"),
        (["scrape", "not a url"], "is not a URL"),
        (["scrape", "--file", "nowhere.txt"], "nowhere.txt cannot be read"),
        (["status", "job_000000000000"], "There is no job 'job_000000000000'."),
        (["results", "job_000000000000"], "There is no job 'job_000000000000'."),
        (["cancel", "job_000000000000"], "There is no job"),
        (["jobs", "--status", "x"], "status_filter"),
        (["jobs", "--url", "http://127.0.0.1:9"], "No curtsy answers at http://127.0.0.1:9"),
        (["dead-letters", "--retry", "--resolve"], "exclude each other"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_in_a_sentence(
    quick: Curtsy, arguments: list[str], words: str
) -> None:
    assert words in quick(*arguments).sentence()


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
        ended = quick("status", job, "--wait", "--json", **at).json
        assert (ended["completed"], ended["failed"]) == (1, 1)
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
            "1 dead letters retried, 1 pages wait again."
            in quick("dead-letters", "--retry", "--yes", "--kind", "gone", **at).out
        )
        quick("status", job, "--wait", **at)
        assert quick("retry", job, **at).out == "Job retried. 1 failed pages wait again.\n"
        assert quick("status", job, "--wait", **at).exit_code == 0
        assert "Job purged." in quick("cancel", job, "--purge", **at).out
        assert "There is no job" in quick("status", job, **at).sentence()


def test_a_job_that_nobody_works_on_can_be_paused_and_cancelled(quick: Curtsy) -> None:
    job = quick("submit", "http://a.example/", "--json").json["job_id"]
    assert quick("pause", job).out == "Job paused. 1 pages wait aside.\n"
    assert quick("status", job).out.endswith("1 pending, paused\n")
    assert quick("resume", job).out == "Job resumed. 1 pages wait again.\n"
    assert "Removed 1 pending tasks" in quick("cancel", job).out
    assert "it cannot be cancelled" in quick("cancel", job).sentence()
