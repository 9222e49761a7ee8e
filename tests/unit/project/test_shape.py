"""The code keeps its shape: small functions, small modules, no machine's path or registry in it."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MOST_LINES_IN_A_FUNCTION = 50
MOST_LINES_IN_A_MODULE = 300
DECLARATIVE = {
    "src/curtsy/store/schema.py": "one table after another, nothing but columns",
    "src/curtsy/store/migrations/versions/0001_first_schema.py": "the same, frozen",
}
FORBIDDEN_NAMES = re.compile(r"(^|_)(manager|helper|util|common|base|core|handler|service)s?$")


def tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


MODULES = tracked("src/*.py")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_there_are_modules_to_look_at() -> None:
    assert len(MODULES) > 50


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_is_too_long(path: Path) -> None:
    if name_of(path) not in DECLARATIVE:
        assert len(path.read_text().splitlines()) <= MOST_LINES_IN_A_MODULE


@pytest.mark.parametrize(
    "path", [*MODULES, *tracked("tests/*.py"), *tracked("bench/*.py")], ids=name_of
)
def test_no_function_is_too_long(path: Path) -> None:
    if name_of(path) in DECLARATIVE:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            assert lines <= MOST_LINES_IN_A_FUNCTION, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_names_say_what_a_module_holds(path: Path) -> None:
    assert not FORBIDDEN_NAMES.search(path.stem), "a name that could hold anything"


def test_every_exception_to_the_shape_is_still_there() -> None:
    assert {name for name in DECLARATIVE if not (ROOT / name).exists()} == set()


@pytest.mark.parametrize("path", tracked("requirements*.txt"), ids=name_of)
def test_locks_carry_hashes_and_name_no_host(path: Path) -> None:
    text = path.read_text()
    assert "--hash=sha256:" in text
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
