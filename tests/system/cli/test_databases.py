"""A database that cannot be used is named as what it is, by every command, in one sentence."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cli.conftest import Curtsy, complaints
from support.postgres import Postgres

QUESTIONS = ("jobs", "doctor", "db check", "keys list", "schedules list", "process-dlq")
WRITES = ("submit http://a.example/", "keys add --user ann", "db upgrade", "up")
PARTS = ("api", "worker", "scheduler")


def sentence(curtsy: Curtsy, command: str, **settings: object) -> str:
    """All that it says: nothing on standard output, and no log line either."""
    told = curtsy(*command.split(), **({"api_port": 0, "lease_seconds": 10} | settings))
    assert (told.exit_code, told.out) == (1, ""), (command, told)
    [line] = complaints(told.err)
    assert line.startswith("curtsy: "), (command, told.err)
    return line


@pytest.mark.parametrize("command", [*QUESTIONS, *PARTS])
def test_a_missing_file_is_told_and_not_created(
    curtsy: Curtsy, tmp_path: Path, command: str
) -> None:
    assert f"There is no database {tmp_path}/curtsy.db" in sentence(curtsy, command)
    assert not (tmp_path / "curtsy.db").exists()


@pytest.mark.parametrize("command", [*QUESTIONS, *WRITES, *PARTS])
def test_a_file_that_is_no_database_is_told(curtsy: Curtsy, tmp_path: Path, command: str) -> None:
    file = tmp_path / "curtsy.db"
    file.write_text("hello " * 100)
    assert "which is not a SQLite file" in sentence(curtsy, command)
    file.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 64)
    before = file.read_bytes()
    assert "is not a SQLite database, or is damaged" in sentence(curtsy, command)
    assert file.read_bytes() == before


@pytest.mark.parametrize("command", ["jobs", "doctor", "up"])
def test_a_locked_file_is_told_once_and_soon(curtsy: Curtsy, tmp_path: Path, command: str) -> None:
    curtsy("db", "upgrade")
    other = sqlite3.connect(tmp_path / "curtsy.db", isolation_level=None)
    try:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        assert "The database is locked by another program" in sentence(curtsy, command)
    finally:
        other.close()


@pytest.mark.skipif(os.getuid() != 0, reason="NOT TESTED: only root can become someone else")
@pytest.mark.parametrize("command", [*QUESTIONS, *WRITES, *PARTS])
def test_missing_permissions_are_told(curtsy: Curtsy, tmp_path: Path, command: str) -> None:
    for folder in [tmp_path, *tmp_path.parents][:4]:
        folder.chmod(0o755)
    curtsy("db", "upgrade")
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "curtsy.db").rename(place / "curtsy.db")
    url = f"sqlite:///{place}/curtsy.db"
    for mode, of_file in ((0o777, 0o644), (0o777, 0o600), (0o755, 0o666), (0o700, 0o666)):
        place.chmod(mode)
        (place / "curtsy.db").chmod(of_file)
        os.seteuid(65534)
        try:
            told = sentence(curtsy, command, database_url=url)
        finally:
            os.seteuid(0)
        assert "not writable" in told or "not readable" in told, (oct(mode), told)


@pytest.fixture
def full_disk(tmp_path: Path, curtsy: Curtsy) -> Iterator[str]:
    """A database on a real file system of two mebibytes, all of them in use."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED: a full disk needs the right to mount a small file system")
    url = f"sqlite:///{disk}/curtsy.db"
    curtsy("db", "upgrade", database_url=url)
    with suppress(OSError), (disk / "filling").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    yield url
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.parametrize("command", ["submit http://a.example/", "keys add --user ann", "up"])
def test_a_full_disk_is_told(curtsy: Curtsy, full_disk: str, command: str) -> None:
    assert "disk is full" in sentence(curtsy, command, database_url=full_disk)


@pytest.mark.parametrize("command", ["jobs", "doctor", "db check", "up", "worker"])
def test_a_missing_database_of_a_server_is_told(
    curtsy: Curtsy, postgres: Postgres, command: str
) -> None:
    url = postgres.url("nowhere")
    assert "The database does not exist" in sentence(curtsy, command, database_url=url)
