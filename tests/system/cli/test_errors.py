"""What cannot be done is told in one sentence, with a documented exit code and no traceback."""

import os
from pathlib import Path

import pytest

from cli.conftest import Curtsy
from curtsy.demo.process import PracticeProcess

JOB = "job_000000000000"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--foo"], "No such option: --foo"),
        (["scrape", "--foo"], "see `curtsy scrape --help`."),
        (["submi"], "No such command 'submi' (did you mean 'submit'?): see `curtsy --help`."),
        (["db", "chekc"], "see `curtsy db --help`."),
        (["status"], "Missing argument 'JOB'"),
        (["status", "../x"], "'../x' is not a job id"),
        (["status", ""], "'' is not a job id"),
        (["scrape"], "There are no URLs"),
        (["scrape", "http://a/", "--format", "xml"], "'xml' is not one of 'text', 'markdown'"),
        (["scrape", "http://a/", "--json", "--format", "text"], "exclude each other"),
        (["scrape", "http://a/", "--max-age", "-1"], "'--max-age'"),
        (["jobs", "--limit", "0"], "'--limit'"),
        (["jobs", "--status", "x"], "'x' is not one of 'scheduled', 'queued'"),
        (["dead-letters", "--retry", "--resolve"], "exclude each other"),
        (["dead-letters", "--kind", "x"], "'x' is not one of 'dns'"),
        (["jobs", "--url", "ftp://x"], "it must begin with http:// or https://"),
    ],
)
def test_wrong_arguments_are_told_with_exit_code_2(
    curtsy: Curtsy, arguments: list[str], words: str
) -> None:
    assert words in curtsy(*arguments).sentence(2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["status", JOB], f"There is no job '{JOB}': see `curtsy jobs`."),
        (["results", JOB], f"There is no job '{JOB}'"),
        (["cancel", JOB], "There is no job"),
        (["retry", JOB], "There is no job"),
        (["pause", JOB], "There is no job"),
        (["resume", JOB], "There is no job"),
        (["jobs", "--url", "http://127.0.0.1:9"], "No curtsy answers at http://127.0.0.1:9 ("),
        (["jobs", "--url", "127.0.0.1:9"], "No curtsy answers at http://127.0.0.1:9 ("),
        (["scrape", "not a url"], "'not a url' is not a URL"),
        (["scrape", "--file", "nowhere.txt"], "nowhere.txt cannot be read (No such file or"),
        (["scrape", "--file", "."], ". cannot be read (Is a directory)"),
        (["scrape", "http://a/", "--out", "."], ". cannot be written (Is a directory)"),
        (["stop"], "No curtsy is up on curtsy.db"),
    ],
)
def test_what_cannot_be_done_is_told_with_exit_code_1(
    curtsy: Curtsy, arguments: list[str], words: str
) -> None:
    curtsy("db", "upgrade")
    assert words in curtsy(*arguments).sentence()


@pytest.mark.parametrize(
    "command", ["jobs", "dead-letters", f"status {JOB}", f"results {JOB}", f"cancel {JOB}",
                f"retry {JOB}", f"pause {JOB}", f"resume {JOB}", "doctor", "db check"]
)  # fmt: skip
def test_a_question_in_the_wrong_folder_makes_no_database(
    curtsy: Curtsy, tmp_path: Path, command: str
) -> None:
    sentence = curtsy(*command.split()).sentence()
    assert f"There is no database {tmp_path}/curtsy.db: go to the folder that has one" in sentence
    assert list(tmp_path.iterdir()) == []


def test_what_answers_but_is_no_curtsy_is_told(curtsy: Curtsy, pages: PracticeProcess) -> None:
    for command in (("jobs",), ("status", JOB), ("doctor",)):
        sentence = curtsy(*command, url=pages.url(0, "")).sentence()
        assert "the server there is not curtsy" in sentence


def test_a_password_in_an_address_is_not_shown(curtsy: Curtsy) -> None:
    sentence = curtsy("jobs", "--url", "http://me:secret@127.0.0.1:9").sentence()
    assert "secret" not in sentence
    assert "No curtsy answers at http://127.0.0.1:9 (" in sentence


@pytest.mark.skipif(os.getuid() != 0, reason="NOT TESTED: only root can become someone else")
def test_a_log_that_cannot_be_written_keeps_it_from_the_background(
    curtsy: Curtsy, tmp_path: Path
) -> None:
    for folder in [tmp_path, *tmp_path.parents][:3]:
        folder.chmod(0o755)
    assert curtsy("config", "check").exit_code == 0
    os.seteuid(65534)
    try:
        sentence = curtsy("up", "--detach", api_port=0).sentence()
    finally:
        os.seteuid(0)
    assert f"{tmp_path}/curtsy.log cannot be written (Permission denied)" in sentence
