"""Which scrapers of your own there are is found without importing them here."""

import os
import sys
from pathlib import Path

import psutil
import pytest

from curtsy.errors import BadSetting
from curtsy.extract.inspection import inspect_scrapers

FINE = '''
from curtsy.scrapers import scraper
@scraper
def {name}(page):
    """What it does.

    And more of it."""
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def written(folder: Path, text: str, name: str = "mine.py") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_names_and_first_lines_are_found_and_nothing_is_imported_here(folder: Path) -> None:
    file = written(folder, f"print('noise')\n{FINE.format(name='one')}{FINE.format(name='two')}")
    before = set(sys.modules)
    own = inspect_scrapers([file])
    assert own.files == (file,)
    assert own.docs == {"one": "What it does.", "two": "What it does."}
    assert not [name for name in set(sys.modules) - before if "mine" in name]
    assert not (folder / "__pycache__").exists()


def test_without_files_and_packages_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", None)
    assert inspect_scrapers([]).docs == {}


def test_a_file_finds_its_neighbours(folder: Path) -> None:
    written(folder, "NAME = 'helped'", "neighbour_of_mine.py")
    text = (
        "from neighbour_of_mine import NAME\nfrom curtsy.scrapers import scraper\n"
        "mine = scraper(name=NAME)(lambda page: None)\n"
    )
    assert set(inspect_scrapers([written(folder, text)]).docs) == {"helped"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("import nowhere", "line 1, in <module>\n    import nowhere\nModule"),
        ("def f(:", "SyntaxError"),
        ("x = 1\n1 / 0", "line 2, in <module>"),
        ("raise SystemExit(3)", "SystemExit"),
        ("import os; os._exit(5)", "ended the process that imports it (5)"),
        ("import os; os.write(1, b'x' * 9); os._exit(0)", "ended the process"),
        ("import os; os.fork()", "PermissionError"),
        ("import socket; socket.socket()", "PermissionError"),
        ("x = bytearray(8 * 2**30)", "MemoryError"),
        ("x = 1", "has no scraper"),
        (FINE.format(name="article"), "name of a built-in scraper"),
        (FINE.format(name="seo"), "name of a built-in scraper"),
        (FINE.format(name="Shouting"), "an invalid name"),
        (FINE.format(name="a" * 61), "an invalid name"),
        (FINE.format(name="f").replace("def f", "async def f"), "is async"),
        (FINE.format(name="f").replace("@scraper", "@scraper(key='')"), "key"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(
    folder: Path, text: str, word: str
) -> None:
    file = written(folder, text)
    with pytest.raises(BadSetting) as refused:
        inspect_scrapers([file])
    assert str(refused.value).startswith(f"SCRAPERS: {file} ")
    assert word in str(refused.value)
    assert "importlib" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(BadSetting, match="does not exist or is not a Python file"):
        inspect_scrapers([str(folder / "nowhere.py")])


def test_a_file_that_never_ends_is_given_up_and_leaves_nothing(folder: Path) -> None:
    before = len(psutil.Process().children())
    with pytest.raises(BadSetting, match="within 1 s"):
        inspect_scrapers([written(folder, "while True: pass")], seconds=1)
    assert len(psutil.Process().children()) == before


def test_a_name_that_two_files_have_is_refused(folder: Path) -> None:
    files = [written(folder, FINE.format(name="same"), name) for name in ("a.py", "b.py")]
    with pytest.raises(
        BadSetting, match=r"b\.py has a scraper 'same', but that name is already taken"
    ):
        inspect_scrapers(files)


def test_it_knows_no_secrets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURTSY_DATABASE_URL", "postgresql://u:secret@h/d")
    text = "import os\nassert not [n for n in os.environ if n.startswith('CURTSY')]\n"
    assert inspect_scrapers([written(folder, text + FINE.format(name="one"))]).docs


@pytest.fixture
def package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that has a scraper."""
    written(folder, FINE.format(name="packaged"), "a_package_of_mine.py")
    about = folder / "a_package_of_mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: a-package-of-mine\nVersion: 1.0\n"
    )
    (about / "entry_points.txt").write_text("[curtsy.scrapers]\nmine = a_package_of_mine\n")
    monkeypatch.syspath_prepend(folder)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    return about / "entry_points.txt"


def test_scrapers_of_installed_packages_are_found(package: Path) -> None:
    assert set(inspect_scrapers([]).docs) == {"packaged"}
    package.write_text("[curtsy.scrapers]\nmine = a_package_of_mine:packaged\n")
    assert set(inspect_scrapers([]).docs) == {"packaged"}
    package.write_text("[curtsy.scrapers]\nmine = a_package_of_mine:nothing\n")
    with pytest.raises(BadSetting, match="The package a-package-of-mine cannot be imported"):
        inspect_scrapers([])
    package.write_text("[curtsy.scrapers]\nmine = os:getcwd\n")
    with pytest.raises(BadSetting, match="it has no @scraper"):
        inspect_scrapers([])
