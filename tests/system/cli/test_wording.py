"""What the command line says: in the words of who typed, and of one thing in the singular."""

import sqlite3
from pathlib import Path

import pytest

from cli.conftest import Curtsy

PAGE = "http://a.example/1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sources", "set", "a", "--hosts", "a.example", "--min-delay", "-1"],
         "--min-delay: it must be greater than or equal to 0."),
        (["sources", "set", "a", "--hosts", "a.example", "--max-retries", "-1"], "--max-retries: "),
        (["submit", PAGE, "--name", "x" * 400], "--name: it must have at most 300 characters."),
        (["submit", PAGE, "--tag", "x" * 400], "--tag: it must have at most 100 characters."),
        (["submit", PAGE, "--webhook", "nonsense"], "--webhook is not a URL."),
        (["schedules", "add", "x", "--every", "2h", "--overlap", "bogus", "--fetch", PAGE],
         "--overlap: it must be 'skip', 'queue_one', 'cancel_running' or 'allow'."),
        (["plan", PAGE, "--finish-by", "soon"], "--finish-by: "),
        (["crawl", PAGE, "--max-pages", "99999999"], "--max-pages: "),
    ],
)  # fmt: skip
def test_options_are_named_as_they_were_typed(
    curtsy: Curtsy, arguments: list[str], words: str
) -> None:
    curtsy("db", "upgrade")
    sentence = curtsy(*arguments).sentence()
    assert words in sentence
    assert "body" not in sentence
    assert "Input should" not in sentence


@pytest.mark.parametrize(
    ("what", "hint"),
    [
        ("no.eu", "There is no source 'no.eu': see `curtsy sources list` and `curtsy jobs`."),
        ("job_000000000000", "There is no job 'job_000000000000': see `curtsy jobs`."),
        ("art_1", "There is no page 'art_1': see `curtsy results JOB --json`."),
    ],
)  # fmt: skip
def test_why_hints_at_the_command_that_lists_such_things(
    curtsy: Curtsy, what: str, hint: str
) -> None:
    curtsy("db", "upgrade")
    assert curtsy("why", what).sentence() == f"curtsy: {hint}"


def test_a_source_that_was_paused_without_a_key_was_not_paused_by_anyone(curtsy: Curtsy) -> None:
    curtsy("sources", "set", "a", "--hosts", "a.example")
    curtsy("sources", "pause", "a")
    assert "a was paused." in curtsy("why", "a").out
    for command in (("sources", "list"), ("sources", "show", "a"), ("rate-limits",)):
        told = curtsy(*command).out
        assert "paused" in told
        assert "anyone" not in told


def test_one_page_is_one_page_everywhere(curtsy: Curtsy, tmp_path: Path) -> None:
    job = curtsy("submit", PAGE, "--json").json["job_id"]
    assert curtsy("pause", job).out == "Job paused. 1 page is on hold.\n"
    assert curtsy("resume", job).out == "Job resumed. 1 page is queued again.\n"
    assert curtsy("cancel", job).out == "Job cancelled. Removed 1 pending task.\n"
    lines = curtsy("logs", job).out
    for line in ("Queued: 1 page, 0", "Paused: 1 waiting page is held back",
                 "Resumed: 1 page is queued again", "Cancelled: 1 page will not"):  # fmt: skip
        assert line in lines
    with sqlite3.connect(tmp_path / "curtsy.db") as database:
        database.execute("UPDATE jobs SET finished_at = 1, created_at = 1")
    told = curtsy("cleanup", "--yes", "--days", "1").out
    assert "Deleted 1 job older than 1 day, and 0 records" in told
