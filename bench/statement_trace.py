"""Notes when SQLite statements of this process begin, whoever opened the connection."""

import sqlite3
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

CONNECT: Callable[..., sqlite3.Connection] = sqlite3.connect


def trace_statements() -> list[int]:
    """Returns a list that grows by an instant of `CLOCK_MONOTONIC` in nanoseconds with each
    statement. The schema has no triggers: their steps would count too."""
    begun: list[int] = []

    def note(_sql: str) -> None:
        begun.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))

    @wraps(CONNECT)
    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = CONNECT(*arguments, **options)
        connection.set_trace_callback(note)
        return connection

    sqlite3.connect = connect
    sqlite3.dbapi2.connect = connect  # type: ignore[attr-defined]
    return begun
