"""Upkeep at the command line: cleanup here and elsewhere, and a file made smaller."""

import sqlite3
from contextlib import closing
from pathlib import Path

from cli.conftest import Curtsy
from cli.running import running


def aged(file: Path, days: int) -> None:
    with closing(sqlite3.connect(file, timeout=30)) as stored, stored:
        stored.execute(f"UPDATE jobs SET created_at = created_at - {days} * 86400000, "
                       f"finished_at = created_at - {days} * 86400000")  # fmt: skip


def test_the_timetable_is_there_from_the_first_start_and_cleanup_works_elsewhere(
    quick: Curtsy, tmp_path: Path
) -> None:
    with running(tmp_path, "up") as up:
        assert "maintenance:cleanup" in up.said("maintenance_scheduled")["schedules"]
        listed = quick("schedules", "list", "--json").json["schedules"]
        kinds = {one["name"]: one["kind"] for one in listed}
        assert kinds.items() >= {
            "maintenance:cleanup": "maintenance", "maintenance:dead_letters": "maintenance"
        }.items()  # fmt: skip
        job = quick("submit", "http://a.example/1", "--json").json["job_id"]
        quick("cancel", job)
        aged(tmp_path / "curtsy.db", 31)
        told = quick("cleanup", "--url", up.url)
        assert told.out.startswith("Deleted 1 job older than 30 days"), told
        asked = quick("cleanup", "--url", up.url, "--days", "3", "--json").json
        assert (asked["state"], asked["days"], asked["deleted"]["jobs"]) == ("done", 3, 0)
        assert quick("schedules", "remove", "maintenance:cleanup").exit_code == 0
        refused = quick("db", "vacuum").sentence(1)
        assert "is in use by process" in refused
        assert up.stop() == 0
    with running(tmp_path, "up"):
        names = [s["name"] for s in quick("schedules", "list", "--json").json["schedules"]]
        assert "maintenance:cleanup" not in names


def test_a_vacuum_says_both_sizes(quick: Curtsy, tmp_path: Path) -> None:
    quick("db", "upgrade")
    with closing(sqlite3.connect(tmp_path / "curtsy.db")) as stored, stored:
        stored.execute("CREATE TABLE big AS SELECT zeroblob(5000000) AS x")
        stored.execute("DROP TABLE big")
    sizes = quick("db", "vacuum", "--json").json
    assert sizes["bytes_before"] > sizes["bytes"] == (tmp_path / "curtsy.db").stat().st_size
    assert "bytes, before" in quick("db", "vacuum").out
