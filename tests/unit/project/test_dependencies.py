"""What we depend on: locked by hash, without known holes as far as the list at hand goes."""

import hashlib
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[3]
LOCKS = ("requirements.txt", "requirements-dev.txt", "requirements-bench.txt")
ADVISORIES = tomllib.loads((ROOT / "requirements-advisories.toml").read_text())["advisory"]
SWAGGER = ROOT / "src/curtsy/api/swagger_ui"
PIN = re.compile(r"([A-Za-z0-9._-]+)==([^ ;]+)( ; .+)?( \\\n    --hash=sha256:[0-9a-f]{64})+")


def pins(lock: str) -> dict[str, Version]:
    """The versions of a lock file; every line of it is a pin with a hash, or a comment."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / lock).read_text(), flags=re.MULTILINE)
    found = list(PIN.finditer(text))
    rest = PIN.sub("", text).strip()
    assert rest == "", f"{lock} has what is not a pin with its hashes: {rest[:200]}"
    return {canonicalize_name(pin[1]): Version(pin[2]) for pin in found}


def holes(locked: dict[str, Version]) -> list[str]:
    return [
        f"{one['package']} {locked[one['package']]} has {one['id']}: {one['hole']}"
        for one in ADVISORIES
        if one["package"] in locked
        and SpecifierSet(one["bad"]).contains(locked[one["package"]], prereleases=True)
    ]


@pytest.mark.parametrize("lock", LOCKS)
def test_everything_is_locked_by_hash_and_nothing_has_a_known_hole(lock: str) -> None:
    locked = pins(lock)
    assert len(locked) > 40
    assert holes(locked) == []


def test_a_hole_would_be_found() -> None:
    assert holes({"h11": Version("0.14.0")}) == [
        "h11 0.14.0 has CVE-2025-43859: accepts malformed chunked bodies: request smuggling"
    ]


def test_the_list_is_about_what_we_have() -> None:
    known = {name for lock in LOCKS for name in pins(lock)}
    assert {one["package"] for one in ADVISORIES} <= known
    for one in ADVISORIES:
        assert one.keys() == {"package", "bad", "id", "hole"}
        assert re.fullmatch(r"CVE-\d{4}-\d{4,}|GHSA(-[0-9a-z]{4}){3}", one["id"])
        SpecifierSet(one["bad"])


def test_the_locks_agree_with_each_other_and_with_the_project() -> None:
    runtime, dev, bench = (pins(lock) for lock in LOCKS)
    assert runtime.items() <= dev.items() <= bench.items()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for wanted in map(Requirement, project["dependencies"]):
        assert wanted.specifier.contains(runtime[canonicalize_name(wanted.name)], prereleases=True)
    only_dev = {canonicalize_name(Requirement(one).name)
                for one in project["optional-dependencies"]["dev"]} - {"aiohttp"}  # fmt: skip
    assert not only_dev & runtime.keys(), "who only runs curtsy gets no tools"


def test_vendored_files_are_those_whose_sums_are_noted() -> None:
    lines = (SWAGGER / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split() for line in lines)}
    assert {"swagger-ui-bundle.js", "swagger-ui.css", "favicon.png", "LICENSE"} <= sums.keys()
    assert {path.name for path in SWAGGER.iterdir()} == sums.keys() | {"ORIGIN.md", "SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((SWAGGER / name).read_bytes()).hexdigest() == digest, name
    assert "Apache License" in (SWAGGER / "LICENSE").read_text()


def test_up_and_demo_install_the_runtime_lock_only() -> None:
    """Whoever makes targets depend on others reads this first."""
    rules = dict(re.findall(r"^([^\s#:]+): (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert (rules["up"], rules["demo"]) == ("$(VENV)/runtime-ready",) * 2
    assert rules["$(VENV)/runtime-ready"] == "requirements.txt pyproject.toml"
    recipe = (ROOT / "Makefile").read_text().partition("$(VENV)/runtime-ready: ")[2]
    assert "requirements-dev" not in recipe.partition("\n\n")[0]
