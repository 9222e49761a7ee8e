"""The database file is made private without a loss of its locks."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

from curtsy.store import Store
from support.sql import run, text

WRITE = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], timeout=0.1)
try:
    other.execute("CREATE TABLE other (x)")
except sqlite3.OperationalError as error:
    sys.exit(str(error))
"""


async def test_a_second_store_of_a_process_takes_no_lock_from_the_first(tmp_path: Path) -> None:
    """Who closes a descriptor of the file loses all locks that the process has on it. A worker's
    heartbeat has a store of its own, and other processes would delete the log of the first."""
    file = tmp_path / "a.db"
    async with Store(f"sqlite:///{file}") as first:
        await first.write(lambda c: run(c, text("CREATE TABLE one (x)")))
        holder = sqlite3.connect(file, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        async with Store(f"sqlite:///{file}"):
            pass
        command = [sys.executable, "-c", WRITE, str(file)]
        told = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
        assert "locked" in told.stderr, told
        holder.execute("COMMIT")
        holder.close()
        assert (tmp_path / "a.db-wal").exists()
