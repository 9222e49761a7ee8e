"""Scrapers change no files, and can do all the same what they need."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from curtsy.extract import ExtractLimits, Pool
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.registry import OwnScrapers

OWN = Path(__file__).parent / "own_files.py"
REFUSED = {"PermissionError", "Operation not permitted"}
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the kernel refuses it on Linux")


def told(scraper: str, file: Path, own: Path = OWN) -> Any:
    """What the scraper gives back of a page."""
    known = OwnScrapers((str(own),), {scraper: ""}, (str(file.parent),))
    params = {"file": str(file), "folder": str(file.parent / "folder")}

    async def read() -> Record | Failed:
        async with Pool(ExtractLimits(processes=1, seconds=30), own=known) as pool:
            reply = Reply(200, "http://a.example/", {}, b"", 0)
            return await pool.extract(scraper, reply, params=params)

    outcome = asyncio.run(read())
    assert isinstance(outcome, Record), outcome
    return orjson.loads(outcome.content)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    made = tmp_path / "kept.txt"
    made.write_text("as it was")
    made.chmod(0o640)
    return made


@LINUX
def test_no_file_is_changed_neither_by_python_nor_by_the_c_library(file: Path) -> None:
    before = file.stat()
    outcomes = told("changes", file)
    assert outcomes.pop("c openat2") == "Function not implemented"
    assert {name: said for name, said in outcomes.items() if said not in REFUSED} == {
        "temporary": "No such file or directory"  # it finds no folder that it could write to
    }
    after = file.stat()
    assert file.read_text() == "as it was"
    assert (after.st_mode, after.st_uid, after.st_mtime_ns, after.st_nlink) == (
        before.st_mode, before.st_uid, before.st_mtime_ns, 1)  # fmt: skip
    assert sorted(one.name for one in file.parent.iterdir()) == ["folder", "kept.txt"]


def test_what_a_scraper_needs_it_can_do_with_the_data_that_it_may_read(file: Path) -> None:
    assert told("needs", file) == {
        "read": "as it was", "imported": "wave", "memory": "hello", "pipe": "piped", "listed": [],
    }  # fmt: skip


@LINUX
def test_a_file_of_scrapers_changes_nothing_when_it_is_imported_either(file: Path) -> None:
    early = file.parent / "folder" / "early.py"
    early.write_text(
        "import os\nfrom curtsy.scrapers import scraper\n"
        f"try:\n    os.unlink({str(file)!r})\nexcept PermissionError as error:\n"
        "    refused = str(error)\n"
        "@scraper\ndef early(page):\n    return {'refused': refused}\n"
    )
    assert "not permitted" in told("early", file, early)["refused"]
    assert file.exists()
