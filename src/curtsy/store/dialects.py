"""The engines' differences, all of them: how each spells what both can do.

A `Statement` is written once. In it `{name}` stands for a set of rows given at the call (columns
and types are declared beside the text), and a few words for what the engines call differently.
Rows go in as one array per column on PostgreSQL, as VALUES or one JSON text on SQLite, so a
statement costs the same number of round trips whatever its batch. A `Lookup` is one small query
asked for each of many rows: laterally on PostgreSQL, one by one on SQLite, where a query is no
round trip.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

import orjson
from sqlalchemy import Connection, CursorResult, text

Columns = Mapping[str, str]
"""Name of each column of a row set, and its PostgreSQL type."""


class Postgres:
    name = "postgresql"
    words: Mapping[str, str] = {
        "least": "least",
        "greatest": "greatest",
        "lock": "FOR NO KEY UPDATE",
        "lock_skip": "FOR NO KEY UPDATE SKIP LOCKED",
        "clock": "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
        "xid": "CAST(CAST(pg_current_xact_id() AS text) AS bigint)",
        # of transactions that all began before the oldest one that is still open
        "settled": "e.xid < CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)",
        "behind_place": "(e.xid, e.seq) > (CAST(:xid AS bigint), CAST(:seq AS bigint))",
        "by_place": "e.xid, e.seq",
        "by_place_desc": "e.xid DESC, e.seq DESC",
        "receiver": "lower(split_part(url, '/', 3))",  # the host and port that a URL names
    }

    @staticmethod
    def rows_sql(name: str, columns: Columns) -> str:
        arrays = ", ".join(f"CAST(:{name}_{c} AS {kind}[])" for c, kind in columns.items())
        return f"unnest({arrays}) AS {name}({', '.join(columns)})"

    @staticmethod
    def rows_values(name: str, columns: Columns, rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
        by_column = zip(*rows, strict=True) if rows else ((),) * len(columns)
        return {f"{name}_{c}": list(v) for c, v in zip(columns, by_column, strict=True)}


class Sqlite:
    name = "sqlite"
    words: Mapping[str, str] = {
        "least": "min",
        "greatest": "max",
        "lock": "",  # a writing transaction is BEGIN IMMEDIATE: it holds every row already
        "lock_skip": "",
        "clock": "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
        "xid": "0",
        "settled": "true",
        "behind_place": "e.seq > :seq",  # one writer at a time: the sequence alone is in order
        "by_place": "e.seq",
        "by_place_desc": "e.seq DESC",
        "receiver": "lower(substr(url, instr(url, '//') + 2,"
        " instr(substr(url || '/', instr(url, '//') + 2), '/') - 1))",
    }

    MOST_VALUES = 1_024
    """VALUES are read three times as fast as JSON, up to about here; then they cost more."""

    @staticmethod
    def rows(columns: Columns, rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
        """A table of the rows, and the values of its question marks.

        It has a power of two of rows, so that there are few different texts to prepare and keep;
        those that are filled up have nothing in their first column, which no real row has.
        """
        number = len(rows)
        if not 0 < number <= Sqlite.MOST_VALUES:
            return _json_table(tuple(columns)), [orjson.dumps(rows).decode()]
        size = 1 << (number - 1).bit_length()
        values = [*chain.from_iterable(rows), *[None] * (len(columns) * (size - number))]
        return _values_table(tuple(columns), size), values


@cache
def _values_table(columns: tuple[str, ...], size: int) -> str:
    picks = ", ".join(f"column{i} AS {c}" for i, c in enumerate(columns, 1))
    row = f"({', '.join('?' * len(columns))})"
    table = f"VALUES {', '.join([row] * size)}"
    return f"(SELECT {picks} FROM ({table}) WHERE column1 IS NOT NULL)"  # noqa: S608


@cache
def _json_table(columns: tuple[str, ...]) -> str:
    picks = ", ".join(f"value ->> {i} AS {c}" for i, c in enumerate(columns))
    return f"(SELECT {picks} FROM json_each(?))"  # noqa: S608


_SCALAR = re.compile(r":([a-z_]+)")


class Statement:
    """One statement for both engines."""

    def __init__(self, sql: str, **row_sets: Columns) -> None:
        self._row_sets = row_sets
        sets = {n: Postgres.rows_sql(n, columns) for n, columns in row_sets.items()}
        self._postgres = text(sql.format(**sets, **Postgres.words))
        marks = {n: f":{n}" for n in row_sets}
        # What stands before, between and behind the names, and the names, in turn.
        self._sqlite = _SCALAR.split(sql.format(**marks, **Sqlite.words))

    def __call__(self, connection: Connection, /, **values: Any) -> CursorResult[*tuple[Any, ...]]:
        if connection.dialect.name == Sqlite.name:
            return connection.exec_driver_sql(*self._spelled_for_sqlite(values))
        for name, columns in self._row_sets.items():
            values |= Postgres.rows_values(name, columns, values.pop(name))
        return connection.execute(self._postgres, values)

    def _spelled_for_sqlite(self, values: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
        pieces = list(self._sqlite)
        bound: list[Any] = []
        for at in range(1, len(pieces), 2):
            name = pieces[at]
            if columns := self._row_sets.get(name):
                table, row_values = Sqlite.rows(columns, values[name])
                pieces[at] = f"{table} AS {name}"
                bound += row_values
            else:
                pieces[at] = "?"
                bound.append(values[name])
        return "".join(pieces), tuple(bound)

    def sql(self, dialect: str) -> str:
        """Its text on that engine, for EXPLAIN guards; on SQLite with no rows."""
        if dialect == Postgres.name:
            return str(self._postgres)
        nothing = dict.fromkeys(self._sqlite[1::2], ())
        return self._spelled_for_sqlite(nothing)[0]


class Lookup:
    """The same query for each of many rows; `{each_name}` stands for a column of the row."""

    def __init__(self, sql: str, each: Columns) -> None:
        self._columns = each
        lateral = sql.format(**{f"each_{c}": f"wish.{c}" for c in each}, **Postgres.words)
        source = Postgres.rows_sql("wish", each)
        self._lateral = text(
            f"SELECT found.* FROM {source} CROSS JOIN LATERAL ({lateral}) found"  # noqa: S608
        )
        self._single = text(sql.format(**{f"each_{c}": f":{c}" for c in each}, **Sqlite.words))

    def __call__(
        self, connection: Connection, rows: Sequence[Sequence[Any]], /, **values: Any
    ) -> list[Any]:
        if connection.dialect.name == Postgres.name:
            values |= Postgres.rows_values("wish", self._columns, rows)
            return [*connection.execute(self._lateral, values).all()]
        found: list[Any] = []
        for row in rows:
            bound = dict(zip(self._columns, row, strict=True))
            found += connection.execute(self._single, values | bound).all()
        return found

    def sql(self, dialect: str) -> str:
        return str(self._lateral if dialect == Postgres.name else self._single)
