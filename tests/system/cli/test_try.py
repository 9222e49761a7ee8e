"""`curtsy try`, the tutorial that uses it, and services that are told of scrapers of your own."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Curtsy, Told, complaints
from cli.running import environment, running
from curtsy.demo.process import PracticeProcess

TUTORIAL = (Path(__file__).parents[3] / "docs/tutorial/your-own-scraper.md").read_text()
BLOCKS = re.findall(r"```(sh|python|toml)\n(.*?)```", TUTORIAL, re.DOTALL)
MINE = """
from curtsy.scrapers import Found, scraper

@scraper
def mine(page):
    print("looking")
    return Found(record={"title": page.css_first("h1").text(), "told": page.params}, links=["a"])
"""
BAD = "from curtsy.scrapers import scraper\n@scraper\ndef mine(page):\n    return 1 / 0\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    (tmp_path / "saved.html").write_text("<h1>A Title</h1>")
    return file


FORMS = ("text", "markdown", "json")
SAVED = ("try", "saved.html", "--url", "https://a.example/x/")


def test_what_is_found_goes_to_standard_output_and_the_rest_beside_it(
    quick: Curtsy, mine: Path
) -> None:
    told = quick(*SAVED, "--scrapers", "mine.py", "--params", '{"a": 1}')
    assert told.exit_code == 0, told
    assert told.out == 'title: A Title\ntold:  {"a":1}\n'
    for word in (
        "mine on https://a.example/x/ (16 bytes)",
        "INFO looking",
        "  https://a.example/x/a",
    ):
        assert word in told.err


def test_in_json_everything_is_one_object(quick: Curtsy, mine: Path) -> None:
    told = quick(*SAVED, "--scrapers", "mine.py", "--json").json
    [row] = told["records"]
    assert (list(row), row["record"]["title"]) == (["record_key", "record"], "A Title")
    assert told["log"] == [{"level": "INFO", "message": "looking"}]
    assert told["links"] == ["https://a.example/x/a"]
    assert 0 < told["seconds"] < 10


def test_a_failure_is_told_with_the_file_and_the_line(quick: Curtsy, mine: Path) -> None:
    mine.write_text(BAD)
    told = quick(*SAVED, "--scrapers", "mine.py")
    assert (told.exit_code, told.out) == (4, "")
    assert "Failed: The scraper failed: ZeroDivisionError: division by zero." in told.err
    assert f'File "{mine}", line 4, in mine' in told.err
    in_json = quick(*SAVED, "--scrapers", "mine.py", "--json")
    assert (in_json.exit_code, in_json.json["kind"]) == (4, "extract_failed")
    assert "ZeroDivisionError" in in_json.json["traceback"]


def test_a_page_is_fetched_after_its_robots_file_and_through_redirects(
    quick: Curtsy, mine: Path, pages: PracticeProcess, tmp_path: Path
) -> None:
    told = quick("try", pages.url(0, "/redirect/2/7"), "--scrapers", "mine.py", "--save", "p.html")
    assert told.out.startswith("title: Page 7")
    assert b"Page 7" in (tmp_path / "p.html").read_bytes()
    asked = [entry.path for entry in pages.entries()][-4:]
    assert asked == ["/robots.txt", "/redirect/2/7", "/redirect/1/7", "/page/7"]
    private = quick("try", pages.url(0, "/news/private/editors-notes"), "--scraper", "raw")
    assert (private.exit_code, "robots_denied" in private.err) == (4, True)
    assert "redirect_loop" in quick("try", pages.url(0, "/circle/1"), "--scraper", "raw").err
    assert "(gone)" in quick("try", pages.url(0, "/missing/1"), "--scraper", "raw").err
    assert not (tmp_path / "curtsy.db").exists(), "nothing is stored"


def test_addresses_that_are_not_public_are_refused(curtsy: Curtsy, pages: PracticeProcess) -> None:
    told = curtsy("try", pages.url(0, "/page/1"), "--scraper", "raw")
    assert (told.exit_code, "address_refused" in told.err) == (4, True)


@pytest.mark.parametrize(
    ("arguments", "word", "code"),
    [
        (("saved.html", "--scraper", "raw"), "--url", 2),
        (("nowhere.html", "--scraper", "raw"), "neither a URL", 2),
        (("http://a.example/", "--url", "http://a.example/"), "--url is for", 2),
        ((*SAVED[1:],), "Choose a scraper with --scraper", 1),
        ((*SAVED[1:], "--scraper", "magic"), "there are article, feed, listing, raw", 1),
        ((*SAVED[1:], "--params", "{"), "not JSON", 2),
        ((*SAVED[1:], "--params", "[]"), "not an object", 2),
        ((*SAVED[1:], "--scraper", "article", "--params", '{"a": 1}'), "no parameters", 1),
        ((*SAVED[1:], "--recipe", "nowhere.toml"), "cannot be read", 2),
        ((*SAVED[1:], "--recipe", "mine.py"), "cannot be read", 2),
        ((*SAVED[1:], "--scraper", "listing"), "no record", 1),
        ((*SAVED[1:], "--scrapers", "mine.txt"), "--scrapers is 'mine.txt'", 1),
        ((*SAVED[1:], "--scrapers", "other.py"), "does not exist or is not a Python file", 1),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(
    quick: Curtsy, mine: Path, arguments: tuple[str, ...], word: str, code: int
) -> None:
    assert word in quick("try", *arguments).sentence(code)


def test_a_scraper_that_does_not_import_is_refused_at_every_start(
    curtsy: Curtsy, mine: Path
) -> None:
    mine.write_text("x = 1\nimport nowhere_to_be_found\n")
    for command in (("up",), ("api",), ("worker",), ("scrape", "http://a.example/"), SAVED):
        told = curtsy(*command, "--scrapers", "mine.py")
        first, *trace = complaints(told.err)
        assert (told.exit_code, told.out) == (1, "")
        assert first == f"curtsy: SCRAPERS: {mine} cannot be imported (ModuleNotFoundError)."
        assert f'  File "{mine}", line 2, in <module>' in trace
    assert curtsy("config", "check", scrapers="mine.py").exit_code == 1
    assert curtsy("db", "upgrade", scrapers="mine.py").exit_code == 0
    assert curtsy("jobs", scrapers="mine.py").exit_code == 0, "who only looks may look"


def test_its_name_is_shown_with_the_settings(curtsy: Curtsy, mine: Path) -> None:
    assert "Scrapers of your own: mine." in curtsy("config", "check", scrapers="mine.py").out


def test_a_detached_service_is_told_of_them_too(
    quick: Curtsy, mine: Path, pages: PracticeProcess, tmp_path: Path
) -> None:
    detach = [sys.executable, "-m", "curtsy", "up", "--detach", "--json", "--scrapers", "mine.py"]
    settings = environment(api_port=0, lease_seconds=3, allow_addresses="127.0.0.0/8")
    told = subprocess.run(detach, cwd=tmp_path, env=settings, capture_output=True, timeout=60)
    url = json.loads(told.stdout)["url"]
    try:
        made = quick("crawl", pages.url(0, "/page/3"), "--spider", "mine", "--depth", "0",
                     "--wait", "--url", url, "--json")  # fmt: skip
        assert made.exit_code == 0, made
        job = made.json["job_id"]
        printed = {form: quick("results", job, "--format", form, "--url", url) for form in FORMS}
    finally:
        quick("stop")
    page = pages.url(0, "/page/3")
    assert printed["text"].out.startswith(f"{page}\n\ntitle: Page 3")
    assert printed["markdown"].out.startswith(f"## {page}\n\n- **title**: Page 3")
    assert list(printed["json"].json["record"]) == ["title", "told"]


def test_the_tutorials_commands_work_one_after_the_other(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    """Only the practice site is another, and the service's port."""
    words = [kind for kind, _text in BLOCKS]
    assert words == ["sh", "sh", "python", "sh", "python", "sh", "python", "sh", "sh", "sh", "toml",
                     "sh"]  # fmt: skip
    texts = [text.replace("http://127.0.1.1:8100", pages.url(0, "")) for _, text in BLOCKS]
    (demo, settings, first, attempt, better, again, test, run_test, up, crawl, recipe,
     by_recipe) = texts  # fmt: skip
    assert demo == "python -m curtsy.demo --hosts 2 --port 8100\n"

    def do(line: str) -> Told:
        return quick(*shlex.split(line)[1:])

    shell(settings, tmp_path)
    scraper = tmp_path / "harbour_post.py"
    scraper.write_text(first)
    failed = do(attempt)
    assert failed.exit_code == 4
    shown = re.findall(r"```text\n(.*?)```", TUTORIAL, re.DOTALL)[0]
    assert shown in failed.err
    old = '    for link in page.css("main li a"):\n'
    assert old in first
    scraper.write_text(first.replace(old, better))
    found = do(again)
    assert found.out.count("title: ") == 20
    assert "INFO 20 stories" in found.err
    (tmp_path / "test_harbour_post.py").write_text(test)
    shell(run_test.replace("python", sys.executable, 1), tmp_path)
    remember, start = up.splitlines()
    shell(remember, tmp_path)
    assert start == "curtsy up"
    with running(tmp_path, "up"):
        crawled = do(crawl)
        assert crawled.exit_code == 0, crawled
        job = crawled.out.split(":")[0]
        assert "stories" in quick("logs", job).out
    (tmp_path / "stories.toml").write_text(recipe)
    assert do(by_recipe).out.count("url:   http") == 20


def shell(line: str, folder: Path) -> None:
    subprocess.run(["sh", "-c", line], cwd=folder, check=True, timeout=60, capture_output=True)
