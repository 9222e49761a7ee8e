"""SQL that only tests run: the same text on both engines, with `:name` for a value."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from curtsy.store import Connection, Statement
from curtsy.store.postgres_pool import PostgresConnection
from curtsy.store.result import Result
from curtsy.store.sqlite import SqliteConnection


def text(sql: str) -> Statement:
    return Statement(sql.replace("{", "{{").replace("}", "}}"))


def run(
    connection: Connection, statement: Statement, values: Mapping[str, Any] | None = None
) -> Result:
    return statement(connection, **(values or {}))


@contextmanager
def statements_ran(about: str = "") -> Iterator[list[str]]:
    """Yields the list of the statements that run inside the `with` and contain this text."""
    ran: list[str] = []

    def noting(execute: Callable[..., Result]) -> Callable[..., Result]:
        def note(connection: Connection, sql: str, arguments: Sequence[Any] = ()) -> Result:
            if about in sql:
                ran.append(sql)
            return execute(connection, sql, arguments)

        return note

    with pytest.MonkeyPatch.context() as patch:
        for engine in (SqliteConnection, PostgresConnection):
            patch.setattr(engine, "execute", noting(engine.execute))
        yield ran
