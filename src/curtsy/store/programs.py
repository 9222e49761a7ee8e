"""The live processes that have a row, and the schemas that their programs know.

An API has no row: it notices by itself when the schema no longer works with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from curtsy.model.worker_places import split_program
from curtsy.store.connection import Connection
from curtsy.store.dialects import Statement
from curtsy.store.version import BEFORE_IT, FIRST_THAT_DECLARES, version_in

SCHEDULER_ALIVE_MS = 15_000
"""A scheduler counts as alive for so long after a heartbeat; a worker as long as its lease."""
_PROGRAMS = """
    SELECT 'worker' AS kind, id, machine, pid, program, {schema} AS program_schema FROM workers
    WHERE lease_until > {{clock}}
    UNION ALL
    SELECT 'scheduler', id, machine, pid, program, {schema} FROM schedulers
    WHERE ticked_at > {{clock}} - :scheduler_alive
    ORDER BY 1 DESC, 3, 4, 2
    """
_SAID = Statement(_PROGRAMS.format(schema="program_schema"))
_UNSAID = Statement(_PROGRAMS.format(schema="CAST(NULL AS text)"))


@dataclass(frozen=True, slots=True)
class LiveProgram:
    kind: str
    """worker or scheduler"""
    id: str
    machine: str
    pid: int
    program: str
    """Its name and version."""
    schema: str
    """The newest schema that it knows."""
    watches: bool
    """Whether the process ends by itself when the schema no longer works with it."""

    def works_with(self, oldest_program: str) -> bool:
        """Whether it works with a schema that works with programs from this one on."""
        return self.schema >= oldest_program

    def __str__(self) -> str:
        return f"{self.kind} {self.pid} on {self.machine} ({self.program}, schema {self.schema})"


def live_programs(connection: Connection) -> list[LiveProgram]:
    """All live workers and schedulers, by machine, on the database's clock; none of a schema of the
    time before the first release."""
    version = version_in(connection)
    if version is None or version < BEFORE_IT:
        return []
    statement = _SAID if version >= FIRST_THAT_DECLARES else _UNSAID
    return list(map(_program, statement(connection, scheduler_alive=SCHEDULER_ALIVE_MS)))


def too_old(programs: Iterable[LiveProgram], oldest_program: str) -> list[LiveProgram]:
    return [program for program in programs if not program.works_with(oldest_program)]


def _program(row: Any) -> LiveProgram:
    program, _place = split_program(row.program)
    schema = row.program_schema or BEFORE_IT
    return LiveProgram(row.kind, row.id, row.machine, row.pid, program, schema,
                       watches=row.program_schema is not None)  # fmt: skip
