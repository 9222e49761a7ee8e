"""Every statement of a transaction explained while it runs: how many buffers, which scans."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import Connection, text

from curtsy.store import dialects

BIG = ("visits", "pages", "items", "sources", "documents", "attempts", "events", "jobs", "hosts")


@dataclass
class Plan:
    sql: str
    buffers: int
    scanned: set[str]
    """Big tables read from end to end."""


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
def explained(monkeypatch: pytest.MonkeyPatch) -> Iterator[Plans]:
    """Within this, each statement is explained in a savepoint, undone, and then really run."""
    plans = Plans()

    def watching(statement: Any, values: dict[str, Any], connection: Connection) -> None:
        with connection.begin_nested() as savepoint:
            if connection.dialect.name == "sqlite":
                plans.seen.append(_sqlite_plan(connection, str(statement), values))
            else:
                plans.seen.append(_postgres_plan(connection, str(statement), values))
            savepoint.rollback()

    real = Connection.execute

    def execute(self: Connection, statement: Any, values: Any = None, **more: Any) -> Any:
        explainable = isinstance(statement, dialects.TextClause) and isinstance(values, dict)
        if explainable and not str(statement).startswith("EXPLAIN"):
            watching(statement, values, self)
        return real(self, statement, values, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "execute", execute)
        yield plans


def _postgres_plan(connection: Connection, sql: str, values: dict[str, Any]) -> Plan:
    rows = connection.execute(text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}"), values)
    [top] = rows.scalar_one()
    plan = top["Plan"]
    buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    scanned = {n["Relation Name"] for n in _nodes(plan) if n["Node Type"] == "Seq Scan"}
    return Plan(sql, buffers, scanned & set(BIG))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _sqlite_plan(connection: Connection, sql: str, values: dict[str, Any]) -> Plan:
    rows = connection.execute(text(f"EXPLAIN QUERY PLAN {sql}"), values)
    details = [row.detail for row in rows]
    found = (re.match(r"SCAN (\w+)(?! USING)", detail) for detail in details)
    aliases = {"p": "pages", "s": "sources", "i": "items", "h": "hosts"}
    scanned = {aliases.get(m[1], m[1]) for m in found if m is not None}
    return Plan(sql, 0, scanned & set(BIG))
