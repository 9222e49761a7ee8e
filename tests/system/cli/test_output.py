"""Where output goes: full disks, readers that leave, terminals that know no umlauts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import QUICK, Curtsy, complaints
from cli.running import environment
from cli.test_help import LEAVES, PATHS
from curtsy.demo.process import PracticeProcess

NEWS = "/news/letters/a-map-sold-twice"


def _shell(folder: Path, line: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """A line of bash; `curtsy` is the program, which buffers as it does for its users."""
    program = f'set -o pipefail; curtsy() {{ {sys.executable} -m curtsy "$@"; }}; {line}'
    around = environment(**QUICK) | {"PYTHONUNBUFFERED": ""} | settings
    return subprocess.run(
        ["bash", "-c", program], cwd=folder, env=around,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    "command", ["--version", "--help", "jobs", "jobs --json", "config check", "doctor"]
)
def test_a_full_disk_is_told_in_a_sentence(curtsy: Curtsy, tmp_path: Path, command: str) -> None:
    curtsy("db", "upgrade")
    told = _shell(tmp_path, f"curtsy {command} > /dev/full")
    assert told.returncode == 1
    [line] = complaints(told.stderr)
    assert line.startswith("curtsy: Standard output cannot be written (No space left on device): ")


def test_a_full_disk_is_told_by_the_file_that_was_asked_for(
    quick: Curtsy, pages: PracticeProcess
) -> None:
    sentence = quick("scrape", pages.url(0, NEWS), "-q", "--out", "/dev/full").sentence()
    assert sentence.startswith("curtsy: /dev/full cannot be written (No space left on device): ")
    assert "nothing that was fetched is lost" in sentence


@pytest.mark.parametrize("command", ["jobs", "jobs --json", "results JOB", "config check"])
def test_a_reader_that_leaves_ends_the_command_quietly(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path, command: str
) -> None:
    quick("scrape", pages.url(0, NEWS), "-q")
    [job] = quick("jobs", "--json").json["jobs"]
    told = _shell(tmp_path, f"curtsy {command.replace('JOB', job['job_id'])} | true")
    assert (told.returncode, complaints(told.stderr)) == (141, [])


def test_json_is_whole_where_characters_are_missing(curtsy: Curtsy, tmp_path: Path) -> None:
    curtsy("submit", "http://a.example/", "--name", "Hüte 🎩")
    ascii_only = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    told = _shell(tmp_path, "curtsy jobs --json", **ascii_only)
    assert told.stdout.isascii()
    assert json.loads(told.stdout)["jobs"][0]["name"] == "Hüte 🎩"
    assert "H?te ?" in _shell(tmp_path, "curtsy jobs", **ascii_only).stdout


def test_what_others_named_cannot_steer_a_terminal(curtsy: Curtsy) -> None:
    curtsy("submit", "http://a.example/", "--name", "a\nb\x1b[31mc\x9b2Jd")
    listed = curtsy("jobs").out
    assert "a b [31mc 2Jd" in listed
    assert "\x1b" not in listed
    assert len(listed.splitlines()) == 2


def test_nothing_is_cut_where_no_terminal_is(curtsy: Curtsy) -> None:
    curtsy("submit", "http://a.example/", "--name", "long " * 30)
    assert "long " * 29 in curtsy("jobs").out


def test_stderr_may_be_full_too(curtsy: Curtsy, tmp_path: Path) -> None:
    told = _shell(tmp_path, "curtsy submit http://a.example/ --json 2> /dev/full")
    assert told.returncode == 0
    assert json.loads(told.stdout)["new_articles"] == 1


REPORTS = {"curtsy generate-report": (), "curtsy reports show": ("rep_000000000000",)}
"""They write pages or JSON, not results: with the arguments that they need."""
WITH_OUT = [path for path in LEAVES if any("--out" in p.opts for p in PATHS[path].params)
            and path not in REPORTS]  # fmt: skip


def test_the_commands_that_write_files_are_known() -> None:
    assert set(WITH_OUT) >= {"curtsy scrape", "curtsy results"}


@pytest.mark.parametrize("command", REPORTS)
def test_a_report_is_a_page_or_json(curtsy: Curtsy, tmp_path: Path, command: str) -> None:
    sentence = curtsy(*command.split()[1:], *REPORTS[command], "--out", "a.CSV").sentence(2)
    assert "--out does not write '.CSV' files: it writes .html and .json." in sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", WITH_OUT)
@pytest.mark.parametrize(
    ("file", "options"),
    [("a.csv", []), ("a.CSV", ["--json"]), ("a.xlsx", ["--format", "text"]), ("a.jsonl.gz", []),
     ("a.nowhere", [])],
)  # fmt: skip
def test_an_ending_that_is_not_written_is_refused_before_anything_is_done(
    curtsy: Curtsy, tmp_path: Path, command: str, file: str, options: list[str]
) -> None:
    what = "http://127.0.0.9/" if command == "curtsy scrape" else "job_000000000000"
    sentence = curtsy(*command.split()[1:], what, "--out", file, *options).sentence(2)
    assert f"--out does not write '{Path(file).suffix.lower()}' files" in sentence
    for written in (".txt (text)", ".md, .markdown (markdown)", ".jsonl, .ndjson, .json (json)"):
        assert written in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_any_other_ending_takes_the_format_that_is_given(
    quick: Curtsy, tmp_path: Path, pages: PracticeProcess
) -> None:
    url = pages.url(0, NEWS)
    assert quick("scrape", url, "-q", "--out", "mon.2026-11", "--json").exit_code == 0
    assert json.loads((tmp_path / "mon.2026-11").read_text())["url"] == url
    for text in ("a.txt", "plain"):
        assert quick("scrape", url, "-q", "--out", text).exit_code == 0
        assert url in (tmp_path / text).read_text()
