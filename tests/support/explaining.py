"""Every statement of a transaction explained while it runs: how many buffers, which scans."""

import re
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, TextClause, text

BIG = ("visits", "pages", "items", "sources", "documents", "attempts", "events", "jobs", "hosts",
       "dead_letters")  # fmt: skip

Run = Callable[[Any, Any], Any]


@dataclass
class Plan:
    sql: str
    buffers: int
    scanned: set[str]
    """Big tables read from end to end."""
    sorts: bool
    """What was found is put in order only then."""


@dataclass
class Plans:
    seen: list[Plan] = field(default_factory=list)

    @property
    def buffers(self) -> int:
        return sum(plan.buffers for plan in self.seen)

    @property
    def scanned(self) -> set[str]:
        return {table for plan in self.seen for table in plan.scanned}

    def of(self, words: str) -> Plan:
        return next(plan for plan in self.seen if words in " ".join(plan.sql.split()))


@contextmanager
def explained(monkeypatch: pytest.MonkeyPatch, *, also: Sequence[str] = ()) -> Iterator[Plans]:
    """Within this, each statement is explained in a savepoint, undone, and then really run. Tables
    in `also` are big ones, too."""
    big = {*BIG, *also}
    plans = Plans()

    execute, execute_raw = Connection.execute, Connection.exec_driver_sql

    @contextmanager
    def undone(connection: Connection) -> Iterator[None]:
        with connection.begin_nested() as savepoint:
            yield
            savepoint.rollback()

    def watching(self: Connection, statement: Any, values: Any = None, **more: Any) -> Any:
        explainable = isinstance(statement, TextClause) and isinstance(values, dict)
        if explainable and not str(statement).startswith("EXPLAIN"):
            with undone(self):
                plan = _sqlite_plan if self.dialect.name == "sqlite" else _postgres_plan
                plans.seen.append(plan(str(statement), values, partial(execute, self), big))
        return execute(self, statement, values, **more)

    def watching_raw(self: Connection, sql: str, values: Any = None, **more: Any) -> Any:
        if values is not None and self.dialect.name == "sqlite":
            with undone(self):
                plans.seen.append(_sqlite_plan(sql, values, partial(execute_raw, self), big))
        return execute_raw(self, sql, values, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "execute", watching)
        patch.setattr(Connection, "exec_driver_sql", watching_raw)
        yield plans


def _postgres_plan(sql: str, values: Any, run: Run, big: Set[str]) -> Plan:
    [top] = run(text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}"), values).scalar_one()
    plan = top["Plan"]
    buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    scanned = {n["Relation Name"] for n in _nodes(plan) if n["Node Type"] == "Seq Scan"}
    sorts = any("Sort" in node["Node Type"] for node in _nodes(plan))
    return Plan(sql, buffers, scanned & big, sorts)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _sqlite_plan(sql: str, values: Any, run: Run, big: Set[str]) -> Plan:
    explain = f"EXPLAIN QUERY PLAN {sql}"
    rows = run(text(explain) if isinstance(values, dict) else explain, values)
    details = [row.detail for row in rows]
    found = (re.match(r"SCAN (\w+)(?! USING)", detail) for detail in details)
    aliases = {"p": "pages", "s": "sources", "i": "items", "h": "hosts", "d": "dead_letters"}
    aliases |= {alias: table for table, alias in re.findall(r"(?:FROM|JOIN) (\w+) (\w)\b", sql)}
    scanned = {aliases.get(m[1], m[1]) for m in found if m is not None}
    sorts = any(detail.startswith("USE TEMP B-TREE FOR ORDER BY") for detail in details)
    return Plan(sql, 0, scanned & big, sorts)
