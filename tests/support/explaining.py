"""Explains every statement of a transaction while it runs: buffers read, tables scanned."""

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
class QueryPlan:
    sql: str
    buffers: int
    scanned: set[str]
    """Large tables that are scanned in full."""
    sorts: bool
    """The rows are sorted after they were read."""


@dataclass
class QueryPlans:
    seen: list[QueryPlan] = field(default_factory=list)

    @property
    def buffers(self) -> int:
        return sum(plan.buffers for plan in self.seen)

    @property
    def scanned(self) -> set[str]:
        return {table for plan in self.seen for table in plan.scanned}

    def of(self, fragment: str) -> QueryPlan:
        return next(plan for plan in self.seen if fragment in " ".join(plan.sql.split()))


@contextmanager
def explained(monkeypatch: pytest.MonkeyPatch, *, also: Sequence[str] = ()) -> Iterator[QueryPlans]:
    """Explains each statement in a savepoint, rolls back, and then runs it. Tables in `also` count
    as large, too."""
    big = {*BIG, *also}
    plans = QueryPlans()

    execute, execute_raw = Connection.execute, Connection.exec_driver_sql

    @contextmanager
    def rolled_back(connection: Connection) -> Iterator[None]:
        with connection.begin_nested() as savepoint:
            yield
            savepoint.rollback()

    def explain(self: Connection, statement: Any, values: Any = None, **more: Any) -> Any:
        explainable = isinstance(statement, TextClause) and isinstance(values, dict)
        if explainable and not str(statement).startswith("EXPLAIN"):
            with rolled_back(self):
                plan = _sqlite_plan if self.dialect.name == "sqlite" else _postgres_plan
                plans.seen.append(plan(str(statement), values, partial(execute, self), big))
        return execute(self, statement, values, **more)

    def explain_raw(self: Connection, sql: str, values: Any = None, **more: Any) -> Any:
        if values is not None and self.dialect.name == "sqlite":
            with rolled_back(self):
                plans.seen.append(_sqlite_plan(sql, values, partial(execute_raw, self), big))
        return execute_raw(self, sql, values, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "execute", explain)
        patch.setattr(Connection, "exec_driver_sql", explain_raw)
        yield plans


def _postgres_plan(sql: str, values: Any, run: Run, big: Set[str]) -> QueryPlan:
    [top] = run(text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}"), values).scalar_one()
    plan = top["Plan"]
    buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    scanned = {n["Relation Name"] for n in _nodes(plan) if n["Node Type"] == "Seq Scan"}
    sorts = any("Sort" in node["Node Type"] for node in _nodes(plan))
    return QueryPlan(sql, buffers, scanned & big, sorts)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _sqlite_plan(sql: str, values: Any, run: Run, big: Set[str]) -> QueryPlan:
    query = f"EXPLAIN QUERY PLAN {sql}"
    rows = run(text(query) if isinstance(values, dict) else query, values)
    details = [row.detail for row in rows]
    found = (re.match(r"SCAN (\w+)(?! USING)", detail) for detail in details)
    aliases = {"p": "pages", "s": "sources", "i": "items", "h": "hosts", "d": "dead_letters"}
    aliases |= {alias: table for table, alias in re.findall(r"(?:FROM|JOIN) (\w+) (\w)\b", sql)}
    scanned = {aliases.get(m[1], m[1]) for m in found if m is not None}
    sorts = any(detail.startswith("USE TEMP B-TREE FOR ORDER BY") for detail in details)
    return QueryPlan(sql, 0, scanned & big, sorts)
