"""The types of the client and of `curtsy.scrape`, as mypy --strict reads them in a program of
somebody else."""

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "typed_program/program.py"
MISTAKE = re.compile(r"# error:((?: \[[a-z-]+\])+)$")
FOUND = re.compile(r"program\.py:(\d+): error: .*(\[[a-z-]+\])$", re.MULTILINE)
Mistakes = set[tuple[int, str]]


def mistakes_in(program: Path) -> Mistakes:
    return {
        (number, code)
        for number, line in enumerate(program.read_text().splitlines(), 1)
        if (marked := MISTAKE.search(line))
        for code in marked[1].split()
    }


def mypy(program: Path, cache: Path) -> Mistakes:
    """What mypy finds, where nothing but the installed package tells it of types."""
    config = cache / "mypy.ini"
    config.write_text("[mypy]\n")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context",
         "--config-file", str(config), "--cache-dir", str(cache), program.name],
        cwd=program.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.stderr == ""
    lines = [line for line in run.stdout.splitlines() if ": note:" not in line]
    found = {(int(line), code) for line, code in FOUND.findall("\n".join(lines))}
    assert len(lines) == len(FOUND.findall("\n".join(lines))), run.stdout
    return found


def test_every_type_is_what_it_promises_and_every_mistake_is_found(tmp_path: Path) -> None:
    marked = mistakes_in(PROGRAM)
    assert len(marked) > 10
    assert mypy(PROGRAM, tmp_path) == marked


def test_a_wrong_promise_would_be_noticed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    text = PROGRAM.read_text()
    program.write_text(
        text.replace("client.workers(), tuple[Worker, ...]", "client.workers(), Any")
    )
    assert {code for _line, code in mypy(program, tmp_path) - mistakes_in(program)} == {
        "[assert-type]"
    }
