"""Who works, on what."""

from operator import attrgetter

from fastapi import APIRouter
from pydantic import BaseModel

from curtsy.api.backend import TheBackend
from curtsy.api.problems import problems
from curtsy.clock import rfc3339
from curtsy.model.jobs import page_name
from curtsy.reports.workers import WorkerStatus, all_workers

router = APIRouter(generate_unique_id_function=attrgetter("name"))


class Worker(BaseModel):
    """A process that fetches, as its last heartbeat left it."""

    id: str
    machine: str
    pid: int
    program: str
    started_at: str
    alive: bool
    """It was heard of within its lease."""
    lease_until: str
    draining: bool
    """It ends what is open and starts nothing more."""
    in_flight: int
    pages: list[str]
    """That it is busy with."""
    leases: int
    """Sources that are its own for now."""


class WorkerList(BaseModel):
    workers: list[Worker]
    """The longest at work first."""
    alive: int


@router.get("/workers", responses=problems())
async def list_workers(backend: TheBackend) -> WorkerList:
    """Every worker: where it runs, whether it lives, what it holds."""
    found = await backend.read(lambda c: all_workers(c, now=backend.clock.now()))
    return WorkerList(workers=[_shown(one) for one in found], alive=sum(w.alive for w in found))


def _shown(worker: WorkerStatus) -> Worker:
    return Worker(
        id=worker.id, machine=worker.machine, pid=worker.pid, program=worker.program,
        started_at=rfc3339(worker.started_at), alive=worker.alive,
        lease_until=rfc3339(worker.lease_until), draining=worker.draining,
        in_flight=len(worker.in_flight), pages=[page_name(page) for page in worker.in_flight],
        leases=worker.leases,
    )  # fmt: skip
