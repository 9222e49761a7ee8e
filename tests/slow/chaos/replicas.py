"""A primary and its synchronous standby. The primary dies as machines do, and the standby takes its
place."""

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import asyncpg
import psutil

from chaos.server import Server
from support.postgres import SETTINGS, wheel_server

REPLICATED = {
    "wal_level": "replica",
    "max_wal_senders": "5",
    "hot_standby": "on",
    "full_page_writes": "on",  # pg_rewind wants both
    "wal_log_hints": "on",
}
STANDBY = "standby"
SECONDS = 30


class Replica(Server):
    """A server that can be a primary or a standby."""

    def __init__(self, name: str = "primary", of: "Replica | None" = None) -> None:
        super().__init__(SETTINGS | REPLICATED | {"cluster_name": name})
        self._of = of

    def __enter__(self) -> Self:
        if self._of is None:
            return super().__enter__()
        self._data = self._folder / "data"
        self._data.mkdir(mode=0o700)
        self._wheel = wheel_server(self._data)
        if os.getuid() == 0:
            shutil.chown(self._data, self._wheel.system_user)
        self._run("pg_basebackup", "-h", "127.0.0.1", "-p", str(self._of.port), "-U", "postgres",
                  "-D", str(self._data), "-R", "--checkpoint=fast")  # fmt: skip
        self._wheel.ensure_pgdata_inited()
        self.start()
        return self

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        user = self._wheel.system_user
        ended = subprocess.run(command, user=user, cwd=self._folder, timeout=SECONDS,
                               capture_output=True, text=True)  # fmt: skip
        assert ended.returncode == 0, ended.stderr

    def die(self) -> None:
        """Every process of the server is killed, as with its machine."""
        assert self._process is not None
        first = psutil.Process(self._process.pid)
        for process in [first, *first.children(recursive=True)]:
            process.kill()
        self._process.wait(SECONDS)
        self._process = None
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "-w", "-D", str(self._data))

    async def follow(self, primary: "Replica") -> None:
        """Becomes a standby of the one that replaced it, by pg_rewind."""
        source = f"host=127.0.0.1 port={primary.port} user=postgres dbname=postgres"
        await asyncio.to_thread(self._run, "pg_rewind", "-R", "-D", str(self._data),
                                f"--source-server={source}")  # fmt: skip
        await self.start_again()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


class Pair:
    def __init__(self, primary: Replica, standby: Replica) -> None:
        self.primary, self.standby = primary, standby

    def url(self, database: str) -> str:
        """Names both."""
        places = f"{self.primary.address},{self.standby.address}"
        return f"postgresql://postgres@{places}/{database}?target_session_attrs=read-write"

    def commits_wait_for_the_standby(self) -> None:
        self.primary.run(f"ALTER SYSTEM SET synchronous_standby_names = '{STANDBY}'")
        self.primary.run("SELECT pg_reload_conf()")
        ends = time.monotonic() + SECONDS
        while asyncio.run(_synchronous(self.primary)) != 1:
            assert time.monotonic() < ends, "the standby does not follow"
            time.sleep(0.05)


async def _synchronous(primary: Replica) -> int:
    connection = await asyncpg.connect(primary.url("postgres"), timeout=2)
    try:
        sql = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        return int(await connection.fetchval(sql))
    finally:
        await connection.close()


@contextmanager
def pair(database: str) -> Iterator[Pair]:
    """Both servers, with an empty database of this name."""
    with Replica() as primary:
        primary.run("ALTER SYSTEM SET wal_keep_size = '128MB'")  # for pg_rewind, also when stopped
        primary.run(f"CREATE DATABASE {database}")
        with Replica(STANDBY, primary) as standby:
            made = Pair(primary, standby)
            made.commits_wait_for_the_standby()
            yield made
