"""All differences between the SQL of PostgreSQL and SQLite.

A `Statement` is written once for both. In its text `{name}` stands for a set of rows given at the
call (their columns and types are declared with the statement), or for a fragment that differs
between the engines. PostgreSQL receives a row set as one JSON text, or as one array per column
where a column has bytes; SQLite as VALUES or as one JSON text. The number of round trips does not
depend on the size of the batch. A `Lookup` runs one small query for each of many rows: as a lateral
join on PostgreSQL, as a union of a few at a time on SQLite, where a query needs no round trip.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any

import orjson

from curtsy.store.connection import Connection
from curtsy.store.result import Result

Columns = Mapping[str, str]
"""The columns of a row set with their PostgreSQL types."""


class Postgres:
    name = "postgresql"
    fragments: Mapping[str, str] = {
        "least": "least",
        "greatest": "greatest",
        "lock": "FOR NO KEY UPDATE",
        "lock_skip": "FOR NO KEY UPDATE SKIP LOCKED",
        "wait_briefly": "SET LOCAL lock_timeout = '200ms'",  # whoever comes later waits as long
        "lock_hosts": "LOCK TABLE hosts IN ACCESS EXCLUSIVE MODE",
        "clock": "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
        "xid": "CAST(CAST(pg_current_xact_id() AS text) AS bigint)",
        # events of transactions that began before the oldest open one: no earlier event can follow
        "settled": "e.xid < CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)",
        "behind_place": "(e.xid, e.seq) > (CAST(:xid AS bigint), CAST(:seq AS bigint))",
        "by_place": "e.xid, e.seq",
        "by_place_desc": "e.xid DESC, e.seq DESC",
        "receiver": "lower(split_part(url, '/', 3))",  # the host and port of a URL
        "version_tables": "count(to_regclass('alembic_version'))",
        "table_exists": "to_regclass(name) IS NOT NULL",
        "json_array": "json_build_array",
        # Each row probes the index, whatever the planner expects. A join may read the whole table:
        # because of a LIMIT that is not known when it is planned, or of statistics from the time
        # before this transaction filled the table.
        "page_by_fingerprint": "CROSS JOIN LATERAL"
        " (SELECT * FROM pages WHERE fingerprint = w.fingerprint LIMIT 1) p",
        "page_of_visit": "CROSS JOIN LATERAL (SELECT * FROM pages WHERE id = v.page_id LIMIT 1) p",
    }

    @staticmethod
    def rows_sql(name: str, columns: Columns) -> str:
        if not _has_bytes(columns):
            typed = ", ".join(f"{c} {kind}" for c, kind in columns.items())
            table = f"json_to_recordset(CAST(:{name} AS json)) AS {name}({typed})"
            # The planner expects 100 rows of JSON, so that it would scan tables for one of them.
            limit = f"LIMIT CAST(:{name}_number AS bigint)"
            return f"(SELECT * FROM {table} {limit}) AS {name}"  # noqa: S608
        arrays = ", ".join(f"CAST(:{name}_{c} AS {kind}[])" for c, kind in columns.items())
        return f"unnest({arrays}) AS {name}({', '.join(columns)})"

    @staticmethod
    def rows_values(name: str, columns: Columns, rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Returns the arguments of a row set. The driver looks at each element of an array in
        Python, which takes more than twice the time of JSON; but JSON cannot carry bytes."""
        if not _has_bytes(columns):
            objects = [dict(zip(columns, row, strict=True)) for row in rows]
            return {name: orjson.dumps(objects).decode(), f"{name}_number": len(rows)}
        by_column = zip(*rows, strict=True) if rows else ((),) * len(columns)
        return {f"{name}_{c}": list(v) for c, v in zip(columns, by_column, strict=True)}


def _has_bytes(columns: Columns) -> bool:
    return "bytea" in columns.values()


class Sqlite:
    name = "sqlite"
    fragments: Mapping[str, str] = {
        "least": "min",
        "greatest": "max",
        "lock": "",  # BEGIN IMMEDIATE has locked the whole database already
        "lock_skip": "",
        "wait_briefly": "SELECT 1",
        "lock_hosts": "SELECT 1",
        "clock": "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
        "xid": "0",
        "settled": "true",
        "behind_place": "e.seq > :seq",  # one writer at a time, so `seq` is the order of commits
        "by_place": "e.seq",
        "by_place_desc": "e.seq DESC",
        "receiver": "lower(substr(url, instr(url, '//') + 2,"
        " instr(substr(url || '/', instr(url, '//') + 2), '/') - 1))",
        "version_tables": "count(*) FROM sqlite_master WHERE name = 'alembic_version'",
        "table_exists": "name IN (SELECT m.name FROM sqlite_master m WHERE m.type = 'table')",
        "json_array": "json_array",
        "page_by_fingerprint": "JOIN pages p ON p.fingerprint = w.fingerprint",
        "page_of_visit": "JOIN pages p ON p.id = v.page_id",
    }

    MOST_VALUES = 1_024
    """Up to about this many values, VALUES are three times as fast as JSON; beyond, slower."""

    @staticmethod
    def rows(columns: Columns, rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
        """Returns the SQL of a table of the rows, and the values of its question marks.

        Pads the table to a power of two of rows, so that few different texts have to be prepared
        and cached. Padding rows have NULL in the first column, which real rows never have.
        """
        number = len(rows)
        if not 0 < number <= Sqlite.MOST_VALUES:
            return _json_table(tuple(columns)), [orjson.dumps(rows, default=list).decode()]
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


_NAME = re.compile(r"(?<![:\w]):([a-z_]\w*)(?!:)")
"""A parameter; `::` and what follows it is a type."""


_NUMBER = re.compile(r"\$([0-9]+)")


def _numbered(sql: str) -> tuple[str, tuple[str, ...]]:
    """Returns the text with `$1`, `$2` … instead of the names, and the names in that order."""
    names: dict[str, int] = {}
    numbered = _NAME.sub(lambda name: f"${names.setdefault(name[1], len(names) + 1)}", sql)
    return numbered, tuple(names)


class Statement:
    """One statement for both engines."""

    def __init__(self, sql: str, **row_sets: Columns) -> None:
        self._row_sets = row_sets
        sets = {n: Postgres.rows_sql(n, columns) for n, columns in row_sets.items()}
        self._postgres, self._arguments = _numbered(sql.format(**sets, **Postgres.fragments))
        marks = {n: f":{n}" for n in row_sets}
        # Alternates between literal SQL and names of parameters or row sets.
        self._sqlite = _NAME.split(sql.format(**marks, **Sqlite.fragments))
        self._sqlite_texts: dict[tuple[str, ...], str] = {}

    def __call__(self, connection: Connection, /, **values: Any) -> Result:
        if connection.engine == Sqlite.name:
            return connection.execute(*self._render_for_sqlite(values))
        return connection.execute(self._postgres, self.postgres_arguments(values))

    def postgres_arguments(self, values: dict[str, Any]) -> list[Any]:
        for name, columns in self._row_sets.items():
            values |= Postgres.rows_values(name, columns, values.pop(name))
        return [values[name] for name in self._arguments]

    @property
    def number_of_arguments(self) -> int:
        """On PostgreSQL."""
        return len(self._arguments)

    def _render_for_sqlite(self, values: Mapping[str, Any]) -> tuple[str, list[Any]]:
        bound: list[Any] = []
        tables: list[str] = []
        for name in self._sqlite[1::2]:
            if columns := self._row_sets.get(name):
                table, row_values = Sqlite.rows(columns, values[name])
                tables.append(table)
                bound += row_values
            else:
                bound.append(values[name])
        return self._sqlite_text(tuple(tables)), bound

    def _sqlite_text(self, tables: tuple[str, ...]) -> str:
        """Returns the text with these tables as its row sets. There are few: `Sqlite.rows` has one
        table for each power of two."""
        known = self._sqlite_texts.get(tables)
        if known is None:
            pieces, given = list(self._sqlite), iter(tables)
            for at in range(1, len(pieces), 2):
                name = pieces[at]
                pieces[at] = f"{next(given)} AS {name}" if name in self._row_sets else "?"
            known = self._sqlite_texts[tables] = "".join(pieces)
        return known

    def sqlite_text(self) -> tuple[str, list[str]]:
        """Returns the text of a statement without row sets, and the names of its question marks."""
        return self._sqlite_text(()), self._sqlite[1::2]

    def sql(self, dialect: str) -> str:
        """Returns the text for that engine, for EXPLAIN tests; on SQLite without rows."""
        if dialect == Postgres.name:
            return self._postgres
        nothing = dict.fromkeys(self._sqlite[1::2], ())
        return self._render_for_sqlite(nothing)[0]


Call = tuple[Statement, dict[str, Any]]
"""A statement and its values."""


def together(connection: Connection, *calls: Call) -> list[Result]:
    """Runs statements that do not need each other's rows, in one round trip on PostgreSQL: there
    all of them see the same snapshot, in any order. Returns the result of each."""
    statements = tuple(statement for statement, _values in calls)
    if connection.engine == Sqlite.name:
        return [statement(connection, **values) for statement, values in calls]
    arguments = [statement.postgres_arguments(dict(values)) for statement, values in calls]
    rows = connection.execute(_joined(statements), [*chain.from_iterable(arguments)])
    found: list[list[dict[str, Any]]] = [[] for _ in calls]
    for part, row in rows:
        found[part].append(orjson.loads(row))
    return [_result_of(part) for part in found]


def _result_of(rows: list[dict[str, Any]]) -> Result:
    columns = tuple(rows[0]) if rows else ()
    return Result([tuple(row.values()) for row in rows], columns, len(rows))


@lru_cache(maxsize=100)
def _joined(statements: tuple[Statement, ...]) -> str:
    """Returns one text, in which each statement is a common table expression; its rows are the
    number of the statement and a row of it as JSON."""
    parts: list[str] = []
    rows = ["SELECT -1 AS part, NULL AS row WHERE false"]
    used = 0
    for n, statement in enumerate(statements):
        text = statement.sql(Postgres.name)
        parts.append(f"part_{n} AS ({_renumbered(text, used)})")
        used += statement.number_of_arguments
        if "RETURNING" in text or text.lstrip().startswith("SELECT"):
            rows.append(f"SELECT {n}, CAST(row_to_json(part_{n}) AS text) FROM part_{n}")  # noqa: S608
    return f"WITH {', '.join(parts)} {' UNION ALL '.join(rows)}"


def _renumbered(sql: str, used: int) -> str:
    return _NUMBER.sub(lambda number: f"${int(number[1]) + used}", sql)


MOST_AT_ONCE = 16
"""How many rows a `Lookup` looks up with one statement of SQLite."""


class Lookup:
    """Runs the same query for each of many rows; `{each_name}` stands for a column of the row."""

    def __init__(self, sql: str, each: Columns) -> None:
        self._columns = each
        self._unions: dict[int, str] = {}
        lateral = sql.format(**{f"each_{c}": f"each.{c}" for c in each}, **Postgres.fragments)
        source = Postgres.rows_sql("each", each)
        self._lateral = Statement(
            f"SELECT found.* FROM {source} CROSS JOIN LATERAL ({lateral}) found"  # noqa: S608
        )
        self._single = Statement(
            sql.format(**{f"each_{c}": f":{c}" for c in each}, **Sqlite.fragments)
        )

    def __call__(
        self, connection: Connection, rows: Sequence[Sequence[Any]], /, **values: Any
    ) -> list[Any]:
        """Returns named tuples."""
        return [row for result in self._results(connection, rows, values) for row in result.all()]

    def tuples(
        self, connection: Connection, rows: Sequence[Sequence[Any]], /, **values: Any
    ) -> list[Any]:
        """Returns rows without names."""
        return [
            row for result in self._results(connection, rows, values) for row in result.tuples()
        ]

    def _results(
        self, connection: Connection, rows: Sequence[Sequence[Any]], values: dict[str, Any]
    ) -> Iterator[Result]:
        if connection.engine == Postgres.name:
            given = Postgres.rows_values("each", self._columns, rows)
            yield self._lateral(connection, **values, **given)
            return
        for start in range(0, len(rows), MOST_AT_ONCE):
            some = rows[start : start + MOST_AT_ONCE]
            text, names = self._union(len(some))
            bound: list[Any] = []
            for row in some:
                row_values = values | dict(zip(self._columns, row, strict=True))
                bound += [row_values[name] for name in names]
            yield connection.execute(text, bound)

    def _union(self, size: int) -> tuple[str, list[str]]:
        """Returns the text for that many rows on SQLite, and the names of the question marks of
        one row."""
        text, names = self._single.sqlite_text()
        if (known := self._unions.get(size)) is None:
            one = f"SELECT * FROM ({text})"  # noqa: S608
            known = self._unions[size] = " UNION ALL ".join([one] * size)
        return known, names

    def sql(self, dialect: str) -> str:
        return (self._lateral if dialect == Postgres.name else self._single).sql(dialect)
