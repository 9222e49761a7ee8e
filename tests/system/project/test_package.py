"""The package as a stranger gets it: built, installed elsewhere and used in an empty folder."""

import ast
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from curtsy.demo.process import PracticeProcess

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OFFLINE = ["--no-deps", "--no-index", "--quiet"]
STORY = "/news/letters/a-map-sold-twice"


@dataclass
class Stranger:
    """Has the package in an environment of its own, and nothing in the folder it works in."""

    programs: Path
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), "CURTSY_API_PORT": "0",
                "CURTSY_ALLOW_ADDRESSES": "127.0.1.0/24"}  # fmt: skip

    def runs(self, *command: str) -> str:
        program = str(self.programs / command[0])
        return run([program, *command[1:]], self.folder, self.environment)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel, a source distribution, and the wheel that this one makes."""
    folder = tmp_path_factory.mktemp("built")
    run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], ROOT)
    [source] = folder.glob("*.tar.gz")
    pip("wheel", *OFFLINE, "--no-build-isolation", "-w", str(folder / "again"), str(source))
    return folder


@pytest.fixture(scope="module")
def with_wheel(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    return installed(built, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def with_source(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    return installed(built / "again", tmp_path_factory.mktemp("source"))


def installed(wheels: Path, place: Path) -> Stranger:
    venv.create(place / "venv", symlinks=True)
    [wheel] = wheels.glob("*.whl")
    pip("--python", str(place / "venv/bin/python"), "install", *OFFLINE, str(wheel))
    [packages] = place.glob("venv/lib/python*/site-packages")
    # what else it needs is borrowed from here; after the install, which would find us here, too
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    (place / "empty").mkdir()
    return Stranger(place / "venv/bin", place / "empty")


@pytest.fixture(scope="module")
def site() -> Iterator[PracticeProcess]:
    with PracticeProcess(hosts=1) as practice:
        yield practice


def test_the_wheel_works_in_an_empty_folder(with_wheel: Stranger, site: PracticeProcess) -> None:
    is_at_home(with_wheel)
    assert with_wheel.runs("curtsy", "--version").split()[-1] == PROJECT["version"]
    assert "Schema" in with_wheel.runs("curtsy", "db", "upgrade")
    assert "Schema" in with_wheel.runs("python", "-m", "curtsy", "doctor")
    scrapes(with_wheel, site)


def test_so_does_the_source_distribution(with_source: Stranger, site: PracticeProcess) -> None:
    is_at_home(with_source)
    scrapes(with_source, site)


def is_at_home(stranger: Stranger) -> None:
    where = stranger.runs("python", "-c", "import curtsy; print(curtsy.__file__)")
    assert Path(where).is_relative_to(stranger.programs.parent), "it is not the one here"


def scrapes(stranger: Stranger, site: PracticeProcess) -> None:
    scraped = stranger.runs("curtsy", "scrape", site.url(0, STORY), "--format", "markdown")
    assert scraped.startswith("# A Map Sold Twice\n")


def test_its_docs_page_is_there(with_wheel: Stranger) -> None:
    up = subprocess.Popen(
        [with_wheel.programs / "curtsy", "up"], cwd=with_wheel.folder, text=True,
        env=with_wheel.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert up.stdout is not None
        found = (re.search(r"http\S+/docs\b", line) for line in up.stdout)
        page = next(match[0] for match in found if match)
        for file in ("", "/swagger-ui-bundle.js", "/swagger-ui.css"):
            with urllib.request.urlopen(page + file, timeout=10) as answer:
                assert len(answer.read()) > (300 if not file else 10_000)
        up.send_signal(signal.SIGINT)
        up.stdout.read()
        assert up.wait(30) == 0
    finally:
        up.kill()
        up.communicate()


def test_both_have_every_file_of_the_package_and_no_other(built: Path) -> None:
    [wheel], [of_source] = built.glob("*.whl"), built.glob("again/*.whl")
    files = contents(wheel)
    assert files.keys() == {name for name in tracked() if name.startswith("src/curtsy/")}
    assert contents(of_source) == files


def test_the_source_distribution_has_what_a_builder_needs(built: Path) -> None:
    [source] = built.glob("*.tar.gz")
    with tarfile.open(source) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml"} <= names
    assert {"requirements.txt", "requirements-dev.txt", "tests/conftest.py"} <= names
    assert names - {"PKG-INFO"} <= tracked(), "and nothing that is not in the repository"


def test_nothing_is_imported_that_an_install_does_not_bring() -> None:
    brought = required(PROJECT["dependencies"])
    owners = packages_distributions()
    for path in (ROOT / "src").rglob("*.py"):
        for module in imported(path) - sys.stdlib_module_names - {"curtsy"}:
            owned_by = {canonicalize_name(owner) for owner in owners.get(module, [module])}
            assert owned_by & brought, f"{path.relative_to(ROOT)} imports {module}"


def tracked() -> set[str]:
    """What a clone would hold, with what is not committed yet."""
    listed = run(["git", "ls-files", "-co", "--exclude-standard"], ROOT).splitlines()
    return {name for name in listed if (ROOT / name).is_file()}


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as opened:
        names = [name for name in opened.namelist() if ".dist-info/" not in name]
        return {f"src/{name}": opened.read(name) for name in names}


def imported(path: Path) -> set[str]:
    """The first words of what a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def required(given: list[str]) -> set[str]:
    """These distributions, with all that they require in turn."""
    waiting = [Requirement(one) for one in given]
    found: set[str] = set()
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        extras = [{"extra": extra} for extra in ("", *one.extras)]
        if name in found or not any(one.marker is None or one.marker.evaluate(e) for e in extras):
            continue
        found.add(name)
        waiting += [
            inner for inner in map(Requirement, requires(name) or [])
            if inner.marker is None or any(inner.marker.evaluate(extra) for extra in extras)
        ]  # fmt: skip
    return found


def pip(*arguments: str) -> None:
    run([sys.executable, "-m", "pip", *arguments], ROOT)


def run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    told = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100
    )
    assert told.returncode == 0, told
    return told.stdout
