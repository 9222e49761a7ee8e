"""Fresh databases for the contestants: a SQLite file or a database of one PostgreSQL server.

The server runs with PostgreSQL's own durability (fsync and synchronous_commit on) for everybody.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.children import ROOT
from bench.spent import processor_time

sys.path.insert(0, str(ROOT / "tests"))

from support.departures import Departures, port_of  # type: ignore[import-not-found]
from support.postgres import Postgres, free_port  # type: ignore[import-not-found]
from support.processes import Fleet  # type: ignore[import-not-found]

__all__ = ["ENGINES", "Databases", "Departures", "Fleet", "Postgres", "free_port", "port_of"]

ENGINES = ("sqlite", "postgresql")
SERVER_SETTINGS = {"max_connections": "100", "shared_buffers": "256MB", "max_wal_size": "4GB"}


class Databases:
    """Created on demand, deleted at the end of the `with`; the server starts on first use."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="curtsy-bench-"))
        self._server: Postgres | None = None
        self._created = 0

    def __enter__(self) -> "Databases":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._server is not None:
                self._server.__exit__()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def server(self) -> Postgres:
        if self._server is None:
            server = Postgres(settings=SERVER_SETTINGS)
            self._server = server
            server.__enter__()
        return self._server

    def server_seconds(self) -> float:
        """Processor time of the PostgreSQL server so far."""
        return processor_time(self.server.pid)

    @contextmanager
    def fresh(self, engine: str) -> Iterator[str]:
        """The URL of an empty database, dropped afterwards."""
        if engine == "postgresql":
            url = self.server.create_database()
            try:
                yield url
            finally:
                self.server.drop_database(url)
        else:
            path = self.file("db")
            try:
                yield f"sqlite:///{path}"
            finally:
                for part in path.parent.glob(f"{path.name}*"):
                    part.unlink()

    def file(self, suffix: str) -> Path:
        self._created += 1
        return self._folder / f"{self._created}.{suffix}"
