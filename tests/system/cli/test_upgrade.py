"""Upgrades and older programs, from the command line."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from cli.conftest import Curtsy
from curtsy.store.version import newest
from support.releases import CONTRACT, next_release

FAR = 10**15
WORKER = f"""
    INSERT INTO workers (id, beat, lease_until, machine, pid, program, program_schema, started_at)
    VALUES ('w_1', 0, {FAR}, 'here', 7, 'curtsy 0', '{newest()}', 1)"""


def test_a_downgrade_is_refused_and_says_how_to_go_back(curtsy: Curtsy) -> None:
    curtsy("db", "upgrade")
    before = Path("curtsy.db").read_bytes()
    sentence = curtsy("db", "downgrade").sentence()
    assert sentence == (
        "curtsy: A schema is never downgraded: nothing was changed. To go back to an older curtsy, "
        "first try to start it: it works with a newer schema that supports it, and otherwise says "
        "so and changes nothing. If it does not start, restore the backup that was made before the "
        "upgrade (`curtsy restore FILE --force`, on PostgreSQL the line that it prints)."
    )
    assert curtsy("db", "downgrade", "0001").sentence() == sentence
    assert Path("curtsy.db").read_bytes() == before


def test_up_does_not_upgrade_a_file_that_older_processes_would_not_survive(
    curtsy: Curtsy, tmp_path: Path
) -> None:
    curtsy("db", "upgrade")
    with closing(sqlite3.connect("curtsy.db")) as database, database:
        database.execute(WORKER)
    after = next_release(tmp_path / "after", CONTRACT)
    url = f"sqlite:///{tmp_path / 'curtsy.db'}"
    told = asyncio.run(after.run("up", "--port", "0", url=url))
    assert (told.code, told.out) == (1, "")
    assert "worker 7 on here (curtsy 0, schema " in told.err, told
    checked = curtsy("db", "check")
    assert (checked.exit_code, checked.out) == (0, f"Schema {newest()}: current.\n")
