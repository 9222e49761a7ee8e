"""The workers as of their last heartbeats, with their open requests and leases."""

from dataclasses import dataclass

import orjson

from curtsy.model.worker_places import WorkerPlace, split_program
from curtsy.store import Connection, Statement

_WORKERS = Statement(
    """
    SELECT id, machine, pid, program, started_at, lease_until, draining, in_flight, slots,
           memory_bytes
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
    place: WorkerPlace | None
    """Among the workers of one command; None: it is the only one."""
    started_at: int
    lease_until: int
    alive: bool
    """Its lease has not expired."""
    draining: bool
    slots: int
    in_flight: tuple[int, ...]
    """Ids of the pages whose requests are open."""
    leases: int
    """Number of sources that it holds."""
    memory_bytes: int | None
    """Resident, with the processes that run its scrapers; None: its system does not tell."""


def all_workers(connection: Connection, *, now: int) -> list[WorkerStatus]:
    """All workers, the oldest first; workers whose lease has expired are included."""
    leases = {row.owner: row.number for row in _LEASES(connection)}
    return [
        WorkerStatus(
            id=row.id, machine=row.machine, pid=row.pid, program=program, place=place,
            started_at=row.started_at, lease_until=row.lease_until, alive=row.lease_until > now,
            draining=bool(row.draining), slots=row.slots,
            in_flight=tuple(orjson.loads(row.in_flight)), leases=leases.get(row.id, 0),
            memory_bytes=row.memory_bytes,
        )
        for row in _WORKERS(connection)
        for program, place in (split_program(row.program),)
    ]  # fmt: skip
