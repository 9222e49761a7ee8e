"""Explains every statement of a transaction while it runs: buffers read, tables scanned."""

import json
import re
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from curtsy.store import Connection, savepoint
from curtsy.store.postgres_pool import PostgresConnection
from curtsy.store.result import Result
from curtsy.store.sqlite import SqliteConnection

BIG = ("visits", "pages", "items", "sources", "documents", "attempts", "events", "jobs", "hosts",
       "dead_letters")  # fmt: skip

Run = Callable[[str, Sequence[Any]], Result]
Execute = Callable[..., Result]
Explain = Callable[[str, Sequence[Any], Run, Set[str]], "QueryPlan"]


@dataclass
class QueryPlan:
    sql: str
    buffers: int
    scanned: set[str]
    """Large tables that are scanned in full."""
    sorts: bool
    """The rows are sorted after they were read."""
    expressions: dict[str, int] = field(default_factory=dict)
    """The buffers of each common table expression, by its name; on PostgreSQL."""


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

    def explaining(execute: Execute, plan: Explain) -> Execute:
        def explain(connection: Connection, sql: str, arguments: Sequence[Any] = ()) -> Result:
            if _is_explainable(sql):
                with savepoint(connection) as before:
                    plans.seen.append(plan(sql, arguments, partial(execute, connection), big))
                    before.rollback()
            return execute(connection, sql, arguments)

        return explain

    with monkeypatch.context() as patch:
        for engine, plan in (
            (SqliteConnection, _sqlite_plan),
            (PostgresConnection, _postgres_plan),
        ):
            patch.setattr(engine, "execute", explaining(engine.execute, plan))
        yield plans


def _is_explainable(sql: str) -> bool:
    return sql.split(None, 1)[0] in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


def _postgres_plan(sql: str, arguments: Sequence[Any], run: Run, big: Set[str]) -> QueryPlan:
    said = run(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", arguments).scalar_one()
    [top] = json.loads(said)
    plan = top["Plan"]
    buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    scanned = {n["Relation Name"] for n in _nodes(plan) if n["Node Type"] == "Seq Scan"}
    sorts = any("Sort" in node["Node Type"] for node in _nodes(plan))
    expressions = {
        node["Subplan Name"].removeprefix("CTE "): node["Shared Hit Blocks"]
        + node["Shared Read Blocks"]
        for node in _nodes(plan)
        if "Subplan Name" in node
    }
    return QueryPlan(sql, buffers, scanned & big, sorts, expressions)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _sqlite_plan(sql: str, arguments: Sequence[Any], run: Run, big: Set[str]) -> QueryPlan:
    rows = run(f"EXPLAIN QUERY PLAN {sql}", arguments)
    details = [row.detail for row in rows]
    found = (re.match(r"SCAN (\w+)(?! USING)", detail) for detail in details)
    aliases = {"p": "pages", "s": "sources", "i": "items", "h": "hosts", "d": "dead_letters"}
    aliases |= {alias: table for table, alias in re.findall(r"(?:FROM|JOIN) (\w+) (\w)\b", sql)}
    scanned = {aliases.get(m[1], m[1]) for m in found if m is not None}
    sorts = any(detail.startswith("USE TEMP B-TREE FOR ORDER BY") for detail in details)
    return QueryPlan(sql, 0, scanned & big, sorts)
