"""Stores the robots.txt of each host, so that not every worker has to fetch it."""

from typing import NamedTuple

from curtsy.store import Connection, Statement

_READ = Statement(
    """
    SELECT robots AS file, robots_expires_at AS expires_at FROM hosts
    WHERE host = :host AND robots_expires_at > :now
    """
)
_STORE = Statement(
    """
    UPDATE hosts SET robots = :file, robots_status = :status, robots_expires_at = :expires_at
    WHERE host = :host
    """
)


class RobotsFile(NamedTuple):
    file: bytes
    """Compressed; empty if the host has none."""
    expires_at: int


def read_robots(connection: Connection, host: str, *, now: int) -> RobotsFile | None:
    """None: no file is stored, or it has expired."""
    row = _READ(connection, host=host, now=now).first()
    return RobotsFile(bytes(row.file), row.expires_at) if row is not None else None


def store_robots(connection: Connection, host: str, robots: RobotsFile, *, status: int) -> None:
    _STORE(connection, host=host, file=robots.file, status=status, expires_at=robots.expires_at)
