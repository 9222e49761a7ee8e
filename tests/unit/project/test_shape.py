"""The code keeps its shape: small functions, small modules, names that say what is in them, no
machine's path or registry."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MOST_LINES_IN_A_FUNCTION = 50
MOST_LINES_IN_A_MODULE = 400
MOST_MODULES_IN_A_FOLDER = 25
LONG = {
    "src/curtsy/store/schema.py": "one table after another, nothing but columns",
    "src/curtsy/client/answers.py": "one answer after another, written from the API's models",
    "src/curtsy/client/bodies.py": "one body after another, written from the API's models",
    "src/curtsy/store/migrations/versions/0001_first_schema.py": "the same, frozen",
}
"""Modules that may be longer, and whose functions may be."""
HOLDS_ANYTHING = re.compile(r"(^|_)(manager|helper|util|common|base|core|handler|service)s?$")
GERUND = re.compile(r"(^|_)[a-z]+ing$")
NOUNS = {
    "src/curtsy/reports/findings/finding.py": "something that is wrong, with what to do",
    "src/curtsy/jobs/listing.py": "a list of jobs, page by page",
    "src/curtsy/schedules/listing.py": "a list of schedules, page by page",
    "src/curtsy/scrapers/listing.py": "the scraper of pages that list something",
}
"""Modules named by a word in -ing that is a noun of the field."""


def tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def modules() -> list[Path]:
    """Those of the program; there are some, else nothing would be looked at."""
    found = tracked("src/*.py")
    assert len(found) > 50
    return found


def test_no_module_is_too_long() -> None:
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in modules()}
    too_long = {name for name, lines in lengths.items() if lines > MOST_LINES_IN_A_MODULE}
    assert too_long <= LONG.keys()
    assert lengths.keys() >= LONG.keys(), "an exception that is no longer there"


def test_no_function_is_too_long() -> None:
    paths = [*modules(), *tracked("tests/*.py"), *tracked("bench/*.py")]
    assert [
        f"{name_of(path)}: {function.name} has {lines} lines"
        for path in paths if name_of(path) not in LONG
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (function.end_lineno or 0) - function.lineno + 1) > MOST_LINES_IN_A_FUNCTION
    ] == []  # fmt: skip


def test_names_and_folders_say_what_they_hold() -> None:
    paths = modules()
    assert [name_of(path) for path in paths if HOLDS_ANYTHING.search(path.stem)] == []
    assert {name_of(path) for path in paths if GERUND.search(path.stem)} <= NOUNS.keys()
    assert {name_of(path) for path in paths} >= NOUNS.keys(), "an exception that is no longer there"
    folders = Counter(name_of(path.parent) for path in paths if path.stem != "__init__")
    assert {name: n for name, n in folders.items() if n > MOST_MODULES_IN_A_FOLDER} == {}


@pytest.mark.parametrize("path", tracked("requirements*.txt"), ids=name_of)
def test_locks_carry_hashes_and_name_no_host(path: Path) -> None:
    text = path.read_text()
    assert "--hash=sha256:" in text
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
