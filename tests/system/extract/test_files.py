"""Scrapers change no files and see no secrets, and can do all the same what they need."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from curtsy.extract import ExtractLimits, Pool
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.registry import OwnScrapers

HERE = Path(__file__).parent
OWN = HERE / "own_files.py"
REFUSED = {"PermissionError", "Operation not permitted"}
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the kernel refuses it on Linux")


def told(scraper: str, file: Path, own: Path = OWN) -> Any:
    """What the scraper gives back of a page."""
    known = OwnScrapers((str(own),), {scraper: ""})
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


def test_what_a_scraper_needs_it_can_do(file: Path) -> None:
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


def environment(word: str) -> dict[str, str]:
    """As of somebody who keeps all secrets there."""
    named = ("REDIS_URL", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY")
    urls = ("CURTSY_DATABASE_URL", "DATABASE_URL")
    return {"PATH": os.environ["PATH"], **dict.fromkeys(named, word),
            **dict.fromkeys(urls, f"sqlite:///{word}.db")}  # fmt: skip


@LINUX
def test_no_environment_that_holds_secrets_can_be_read() -> None:
    word = "a-word-that-nobody-else-has"
    ended = subprocess.run(
        [sys.executable, str(HERE / "keeps_secrets.py"), str(OWN), word],
        capture_output=True, text=True, timeout=120, check=False, env=environment(word),
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    found, dumpable = map(orjson.loads, ended.stdout.splitlines())
    assert found["found"] == [], "as root, who may look into other processes"
    assert found["looked_at"] > 0
    assert dumpable == 0, "as anybody else: the kernel lets nobody of the same user look into it"
