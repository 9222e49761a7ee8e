"""A connection as transactions see it, the same on both engines."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Protocol

from curtsy.store.result import Result

EngineName = Literal["postgresql", "sqlite"]


class Connection(Protocol):
    """Runs one statement after another, in the transaction that the store opened."""

    @property
    def engine(self) -> EngineName: ...

    def execute(self, sql: str, arguments: Sequence[Any] = (), /) -> Result:
        """Runs one statement in the spelling of the engine; `Statement` knows both."""
        ...


class Savepoint:
    """`rollback` undoes everything since the savepoint, and releases the locks taken since."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rollback(self) -> None:
        self._connection.execute("ROLLBACK TO SAVEPOINT attempt")


@contextmanager
def savepoint(connection: Connection) -> Iterator[Savepoint]:
    """Undoes what an error interrupted, and leaves the transaction usable."""
    connection.execute("SAVEPOINT attempt")
    attempt = Savepoint(connection)
    try:
        yield attempt
    except Exception:
        attempt.rollback()
        raise
    finally:
        connection.execute("RELEASE SAVEPOINT attempt")
