"""What a person sees: columns that fit, colour only where it is wanted, progress, Ctrl-C."""

import json
import re
from pathlib import Path

from cli.conftest import Curtsy, Site
from cli.terminal import terminal
from curtsy.demo.process import PracticeProcess
from support.patience import PATIENCE

NEWS = "/news/letters/a-map-sold-twice"
CTRL_C = b"\x03"
COLOUR = "\x1b[3"
PROGRESS = re.compile(r"\x1b\[\?25l.*\x1b\[2K", re.DOTALL)
"""From the hiding of the cursor to the clearing of the line."""


def _seen(folder: Path, *command: str, columns: int = 80) -> list[str]:
    with terminal(folder, *command, columns=columns) as shows:
        assert shows.ended() == 0, shows.shown
        return PROGRESS.sub("", shows.shown).splitlines()


def test_a_table_fits_the_terminal_and_ids_stay_whole(curtsy: Curtsy, tmp_path: Path) -> None:
    job = curtsy("submit", "http://a.example/", "--name", "words " * 30, "--json").json["job_id"]
    lines = _seen(tmp_path, "jobs")
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].startswith(f"  {job}  queued  0 of 1 ")
    assert lines[1].endswith("…")
    narrow = _seen(tmp_path, "jobs", columns=40)
    assert narrow[:2] == [f"  job      {job}", "  status   queued"]


def test_an_article_is_wrapped_between_words(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    with terminal(tmp_path, "scrape", pages.url(0, NEWS), "-q") as shows:
        assert shows.ended() == 0
        wrapped = shows.shown
    assert all(len(line) <= 80 for line in wrapped.splitlines())
    plain = quick("scrape", pages.url(0, NEWS), "-q").out
    assert max(map(len, plain.splitlines())) > 80, "a paragraph stays a line elsewhere"
    assert wrapped.split() == plain.split()


def test_progress_has_colour_unless_nobody_wants_it(pages: PracticeProcess, tmp_path: Path) -> None:
    for also, wanted in (({}, True), ({"NO_COLOR": "1"}, False)):
        url = pages.url(0, f"/slow/1500/{int(wanted)}")
        with terminal(tmp_path, "scrape", url, "--out", "x.md", also=also) as shows:
            shows.shows("0/1")
            assert shows.ended() == 0
            assert (COLOUR in shows.shown) is wanted


def test_ctrl_c_lets_open_requests_finish_and_says_what_is_kept(
    site: Site, tmp_path: Path, curtsy: Curtsy
) -> None:
    urls = [f"{site.url}/slow", *(f"{site.url}/{n}" for n in range(50))]
    (tmp_path / "urls.txt").write_text("\n".join(urls))
    command = ("scrape", "-f", "urls.txt", "--out", "articles.jsonl")
    with terminal(tmp_path, *command, robots="ignore", min_delay_seconds=1) as shows:
        assert site.arrived.wait(PATIENCE)
        shows.press(CTRL_C)
        shows.shows("Stopping after the open requests; press Ctrl-C again to stop at once.")
        site.let_go.set()
        assert shows.ended() == 130
    assert (
        "Stopped after 0 of 51 pages, 1 failed: run the same command again to start over."
        in shows.shown
    )
    assert "cancelled" not in shows.shown, "what was never tried is no failure"
    [line] = (tmp_path / "articles.jsonl").read_text().splitlines()
    assert json.loads(line)["url"] == f"{site.url}/slow", "its request was open and has finished"
    [job] = curtsy("jobs", "--json").json["jobs"]
    assert (job["status"], job["failed"]) == ("CANCELLED", 1)


def test_ctrl_c_at_the_last_page_is_no_interruption(site: Site, tmp_path: Path) -> None:
    with terminal(tmp_path, "scrape", f"{site.url}/slow", robots="ignore") as shows:
        assert site.arrived.wait(PATIENCE)
        shows.press(CTRL_C)
        shows.shows("Stopping ")
        site.let_go.set()
        assert shows.ended() == 4, "five letters are no article"
    assert "\n0 of 1 page, 1 failed.\n" in shows.shown


def test_who_stops_watching_is_told_that_the_job_goes_on(tmp_path: Path, curtsy: Curtsy) -> None:
    with terminal(tmp_path, "submit", "http://a.example/", "--wait") as shows:
        shows.shows("0/1")
        shows.press(CTRL_C)
        assert shows.ended() == 130
    [job] = curtsy("jobs", "--json").json["jobs"]
    assert job["status"] == "IN_PROGRESS"
    watch = f"The job goes on; `curtsy status {job['job_id']} --wait` shows its progress again."
    assert watch in shows.shown


def test_dead_letters_are_asked_about_first(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    quick("scrape", pages.url(0, "/missing/1"), "-q")
    for answer in (b"n\n", CTRL_C):
        with terminal(tmp_path, "dead-letters", "--resolve") as shows:
            shows.shows("Resolve 1 dead letter?")
            shows.press(answer)
            assert shows.ended() == 1
            assert "Nothing was changed." in shows.shown
    with terminal(tmp_path, "dead-letters", "--resolve") as shows:
        shows.shows("Resolve 1 dead letter?")
        shows.press(b"y\n")
        assert shows.ended() == 0
        assert "1 dead letter resolved." in shows.shown


def test_what_takes_longer_than_a_second_says_so(site: Site, tmp_path: Path) -> None:
    with terminal(tmp_path, "jobs", "--url", f"{site.url}/wait") as shows:
        shows.shows("Reading jobs")
        site.let_go.set()
        assert shows.ended() == 1
        assert "the server there is not curtsy" in shows.shown
