"""Backups are made of a service that works, and come back whole or not at all."""

import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import orjson
import pytest

from cli.conftest import Curtsy
from cli.running import running
from curtsy.store.version import newest
from support.patience import PATIENCE
from support.postgres import Postgres


@contextmanager
def load(url: str) -> Iterator[list[str]]:
    """Two clients submit jobs one after the other; the list has those that were acknowledged."""
    acknowledged: list[str] = []
    stop = threading.Event()

    def submit() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            body = orjson.dumps({"url": f"http://nowhere.invalid/{threading.get_ident()}/{number}"})
            asked = urllib.request.Request(
                f"{url}/jobs", body, {"Content-Type": "application/json"}
            )
            with suppress(OSError), urllib.request.urlopen(asked, timeout=30) as answer:
                acknowledged.append(orjson.loads(answer.read())["id"])

    threads = [threading.Thread(target=submit) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield acknowledged
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def until_more(acknowledged: list[str], number: int) -> None:
    deadline = time.monotonic() + PATIENCE
    wanted = len(acknowledged) + number
    while len(acknowledged) < wanted:
        assert time.monotonic() < deadline, "jobs are no longer acknowledged"
        time.sleep(0.01)


def jobs_in(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {row[0] for row in database.execute("SELECT public_id FROM jobs")}


def test_a_backup_under_load_has_every_job_that_was_acknowledged_before(
    curtsy: Curtsy, tmp_path: Path
) -> None:
    before_umask = os.umask(0)
    try:
        with running(tmp_path, "up") as up, load(up.url) as acknowledged:
            copies = {}
            for number in range(3):
                until_more(acknowledged, 20)
                before, copy = set(acknowledged), tmp_path / f"copy{number}.db"
                made = curtsy("backup", str(copy), "--json")
                assert made.json == {"file": str(copy), "bytes": copy.stat().st_size}, made.err
                copies[copy] = before
            until_more(acknowledged, 5)
    finally:
        os.umask(before_umask)
    for copy, before in copies.items():
        assert before <= jobs_in(copy)
        assert copy.stat().st_mode & 0o777 == 0o600
        checked = curtsy("db", "check", database_url=f"sqlite:///{copy}")
        assert checked.out == f"Schema {newest()}: current.\n", checked.err
    left = [one.name for one in tmp_path.iterdir() if one.name.endswith(".part")]
    assert left == []


def test_a_backup_comes_back_and_what_came_later_is_gone(curtsy: Curtsy, tmp_path: Path) -> None:
    kept = curtsy("submit", "http://a.invalid/", "--json").json["job_id"]
    assert "checked" in curtsy("backup", "copy.db").out
    curtsy("submit", "http://a.invalid/2")
    leave_a_log(tmp_path / "curtsy.db")
    assert (tmp_path / "curtsy.db-wal").stat().st_size > 0, "which must not be applied to the copy"
    restored = curtsy("restore", "copy.db", "--force")
    assert f"schema {newest()}" in restored.out, restored.err
    assert jobs_in(tmp_path / "curtsy.db") == {kept}
    assert (tmp_path / "curtsy.db").stat().st_mode & 0o777 == 0o600
    assert curtsy("status", kept, "--json").exit_code == 0
    assert (tmp_path / "copy.db").exists()


def leave_a_log(database: Path) -> None:
    """As of a process that was killed after a commit."""
    program = (
        "import os, sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1])\n"
        "database.execute('PRAGMA wal_autocheckpoint = 0')\n"
        "database.execute(\"UPDATE jobs SET name = 'spoilt'\")\n"
        "database.commit()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(database)], check=False)


def test_a_database_is_replaced_only_with_force_and_never_while_it_is_in_use(
    curtsy: Curtsy, tmp_path: Path
) -> None:
    curtsy("db", "upgrade")
    curtsy("backup", "copy.db")
    assert "exists: --force replaces it" in curtsy("restore", "copy.db").sentence()
    with running(tmp_path, "worker") as worker:
        worker.said("worker_started")
        assert "is in use" in curtsy("restore", "copy.db", "--force").sentence()
    with running(tmp_path, "up") as up:
        job = curtsy("submit", "http://a.invalid/", "--json", "--url", up.url).json["job_id"]
        assert "is in use by process" in curtsy("restore", "copy.db", "--force").sentence()
        assert curtsy("status", job, "--json", "--url", up.url).exit_code == 0
    assert job in jobs_in(tmp_path / "curtsy.db")


def test_a_file_is_replaced_only_with_force_and_a_failed_backup_leaves_nothing(
    curtsy: Curtsy, tmp_path: Path
) -> None:
    assert "There is no database" in curtsy("backup", "copy.db").sentence()
    curtsy("db", "upgrade")
    Path("copy.db").write_text("kept")
    assert "exists: name another file" in curtsy("backup", "copy.db").sentence()
    assert "is the database itself" in curtsy("backup", "curtsy.db", "--force").sentence()
    assert "is a folder" in curtsy("backup", str(tmp_path)).sentence()
    assert "No such file" in curtsy("backup", "nowhere/copy.db").sentence()
    assert Path("copy.db").read_text() == "kept"
    assert curtsy("backup", "copy.db", "--force").exit_code == 0
    jobs_in(tmp_path / "copy.db")
    damage(tmp_path / "curtsy.db")
    copy = Path("copy.db").read_bytes()
    assert "curtsy.db" in curtsy("backup", "copy.db", "--force").sentence()
    assert Path("copy.db").read_bytes() == copy
    assert not list(tmp_path.glob(".*part*"))


def damage(database: Path) -> None:
    """Overwrites pages in the middle."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with database.open("r+b") as file:
        file.seek(4_096)
        file.write(b"x" * (database.stat().st_size - 8_192))


@pytest.mark.parametrize("fault", ["missing", "no database", "damaged", "other program", "newer"])
def test_what_is_no_backup_is_not_restored_and_the_database_stays(
    curtsy: Curtsy, tmp_path: Path, fault: str
) -> None:
    job = curtsy("submit", "http://a.invalid/", "--json").json["job_id"]
    curtsy("backup", "copy.db")
    copy = tmp_path / "copy.db"
    words = {"missing": "There is no file", "no database": "not a database",
             "damaged": "", "other program": "is no backup of curtsy",
             "newer": "restore it with the newer curtsy"}  # fmt: skip
    if fault == "damaged":
        damage(copy)
    elif fault == "newer":
        with closing(sqlite3.connect(copy)) as database, database:
            database.execute("UPDATE alembic_version SET version_num = '9999'")
    else:
        copy.unlink()
    if fault == "no database":
        copy.write_text("nothing of the kind" * 100)
    elif fault == "other program":
        with closing(sqlite3.connect(copy)) as database, database:
            database.execute("CREATE TABLE recipes (name TEXT)")
    assert words[fault] in curtsy("restore", "copy.db", "--force").sentence()
    assert jobs_in(tmp_path / "curtsy.db") == {job}
    assert not list(tmp_path.glob(".*part*"))


def test_a_damaged_database_can_be_replaced(curtsy: Curtsy, tmp_path: Path) -> None:
    job = curtsy("submit", "http://a.invalid/", "--json").json["job_id"]
    curtsy("backup", "copy.db")
    damage(tmp_path / "curtsy.db")
    assert curtsy("restore", "copy.db", "--force").exit_code == 0
    assert jobs_in(tmp_path / "curtsy.db") == {job}


def test_the_lines_for_postgresql_work_under_load_and_tell_no_password(
    curtsy: Curtsy, tmp_path: Path, postgres: Postgres
) -> None:
    url, other = postgres.create_database(), postgres.create_database()
    for one in (url, other):
        assert curtsy("db", "upgrade", database_url=one).exit_code == 0
    with running(tmp_path, "api", database_url=url) as api, load(api.url) as acknowledged:
        until_more(acknowledged, 20)
        before = set(acknowledged)
        dumping = curtsy("backup", "copy.dump", database_url=url)
        assert dumping.exit_code == 1
        assert "nothing was done" in dumping.err
        run_line(dumping.out, postgres.programs)
        until_more(acknowledged, 5)
    restoring = curtsy("restore", "copy.dump", database_url=other)
    run_line(restoring.out, postgres.programs)
    assert curtsy("db", "check", database_url=other).exit_code == 0
    found = {job["id"] for job in curtsy("jobs", "--limit", "1000", "--json",
                                         database_url=other).json["jobs"]}  # fmt: skip
    assert before <= found
    for one in (url, other):
        postgres.drop_database(one)


def run_line(line: str, programs: Path) -> None:
    """As somebody who has PostgreSQL's own programs would."""
    program = shlex.split(line)[0]
    found = shutil.which(program, path=str(programs))
    if found is None:
        pytest.skip(f"NOT TESTED: the wheel of PostgreSQL has no {program}")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(line, shell=True, capture_output=True, text=True, check=False,
                           env={**os.environ, "PATH": path})  # fmt: skip
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cr:et@db.example:5433/jobs",
        "postgresql://ann:s3cr%3Aet@db.example:5433/jobs?password=s3cr:et&ssl=require",
        "postgresql://ann@db.example:5433/jobs?sslmode=require&password=s3cr:et&search_path=a",
    ],
)
def test_no_password_is_printed_in_a_line(curtsy: Curtsy, url: str) -> None:
    for command in ("backup", "restore"):
        told = curtsy(command, "it's.dump", database_url=url)
        assert "s3cr" not in told.out + told.err
        assert "@db.example:5433/jobs" in told.out
        assert "it's.dump" in " ".join(shlex.split(told.out))
        assert ("sslmode=require" in told.out) is ("require" in url)
        assert "PGPASSWORD" in told.err
