"""Help teaches, is plain, and comes at once."""

import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
import typer

from cli.conftest import Curtsy
from curtsy.cli.commands.not_built import NOT_YET
from curtsy.cli.console.help_examples import EXAMPLES
from curtsy.cli.program import build

GROUP = typer.main.get_group(build())


def _walk(command: Any, path: str) -> dict[str, Any]:
    inner = getattr(command, "commands", {})
    below = [_walk(sub, f"{path} {name}") for name, sub in inner.items()]
    return {path: command} | {name: sub for found in below for name, sub in found.items()}


PATHS = _walk(GROUP, "curtsy")
LEAVES = [path for path, command in PATHS.items() if not hasattr(command, "commands")]
RUN = [path for path, command in PATHS.items()
       if path in LEAVES or command.invoke_without_command]  # fmt: skip
"""Commands, and groups that do something by themselves."""


@pytest.mark.parametrize("path", PATHS)
def test_it_is_plain_and_fits(curtsy: Curtsy, path: str) -> None:
    for option in ("-h", "--help"):
        told = curtsy(*path.split()[1:], option)
        assert told.exit_code == 0
        lines = told.out.splitlines()
        assert lines[0].startswith("Usage: curtsy")
        assert all(len(line) <= 80 for line in lines)
        assert "\x1b" not in told.out
        assert not re.search(r"<[a-z]", told.out), "a type for programmers"
        assert "..." not in told.out.partition("\n")[2], "a sentence that was cut off"


@pytest.mark.parametrize("path", ["curtsy", *RUN])
def test_it_has_examples_that_would_run(curtsy: Curtsy, path: str) -> None:
    examples = EXAMPLES[path]
    shown = curtsy(*path.split()[1:], "--help").out
    for line in examples:
        assert f"\n  {line}\n" in shown
        words = shlex.split(line.rpartition("| ")[2].partition(" &&")[0])
        _parse(words)


def _parse(words: list[str]) -> None:
    """As typer would; an option or command that does not exist raises."""
    command: Any = GROUP
    rest = words[1:]
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        command, rest = command.commands[rest[0]], rest[1:]
    command.make_context(words[0], rest)


def test_every_example_belongs_to_a_command() -> None:
    assert set(EXAMPLES) == {"curtsy", *RUN}


def test_what_is_not_built_is_in_no_help(curtsy: Curtsy) -> None:
    shown = curtsy("--help").out
    for name in NOT_YET:
        assert name not in shown
        assert curtsy(name, "--help").exit_code == 0, "it still answers by name"
    listed = {line.split()[0] for line in shown.splitlines() if line.startswith("  ")}
    built = {path.split()[1] for path in PATHS if path != "curtsy"} - set(NOT_YET)
    assert built <= listed


MAKE_JOBS = (
    "scrape",
    "submit",
    "crawl",
    "schedule",
    "schedules add",
    "schedules edit",
    "sites run",
)


@pytest.mark.parametrize("path", MAKE_JOBS)
def test_a_webhook_can_be_given_wherever_a_job_is_made(path: str) -> None:
    assert any("--webhook" in option.opts for option in PATHS[f"curtsy {path}"].params)


def test_without_a_word_it_is_shown(curtsy: Curtsy) -> None:
    told = curtsy()
    assert told.exit_code == 2
    assert told.out == curtsy("--help").out
    assert "Exit codes:" in told.out
    assert curtsy("db").out == curtsy("db", "--help").out


def test_it_does_not_wait_for_the_engine() -> None:
    heavy = "{'sqlalchemy', 'fastapi', 'trafilatura', 'pydantic_settings', 'uvicorn'}"
    program = (
        "import sys\nfrom curtsy.cli.program import build\nbuild()\n"
        f"assert not {heavy} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
