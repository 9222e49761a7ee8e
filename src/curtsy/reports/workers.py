"""Who works: each worker as its last heartbeat left it, with what it holds."""

from dataclasses import dataclass

import orjson

from curtsy.store import Connection, Statement

_WORKERS = Statement(
    """
    SELECT id, machine, pid, program, started_at, lease_until, draining, in_flight, slots
    FROM workers
    ORDER BY started_at, id
    """
)
_LEASES = Statement(
    "SELECT owner, count(*) AS number FROM sources WHERE owner IS NOT NULL GROUP BY owner"
)


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    id: str
    machine: str
    pid: int
    program: str
    started_at: int
    lease_until: int
    alive: bool
    """Its lease is not over yet."""
    draining: bool
    slots: int
    in_flight: tuple[int, ...]
    """Pages, by id."""
    leases: int
    """Sources that are its own for now."""


def all_workers(connection: Connection, *, now: int) -> list[WorkerStatus]:
    """The longest at work first; those of whom nothing was heard for a lease included."""
    leases = {row.owner: row.number for row in _LEASES(connection)}
    return [
        WorkerStatus(
            id=row.id, machine=row.machine, pid=row.pid, program=row.program,
            started_at=row.started_at, lease_until=row.lease_until, alive=row.lease_until > now,
            draining=bool(row.draining), slots=row.slots,
            in_flight=tuple(orjson.loads(row.in_flight)), leases=leases.get(row.id, 0),
        )
        for row in _WORKERS(connection)
    ]  # fmt: skip
