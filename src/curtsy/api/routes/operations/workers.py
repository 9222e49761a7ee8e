"""Lists the workers and the pages that they fetch."""

from operator import attrgetter

from fastapi import APIRouter
from pydantic import BaseModel

from curtsy.api.backend import TheBackend
from curtsy.api.problems import problems
from curtsy.clock import rfc3339
from curtsy.model.job_states import page_name
from curtsy.reports.workers import WorkerStatus, all_workers

router = APIRouter(generate_unique_id_function=attrgetter("name"))


class Worker(BaseModel):
    """A process that fetches pages, as of its last heartbeat."""

    id: str
    machine: str
    pid: int
    program: str
    process: str | None
    """Its place among the workers that one command runs, such as `2 of 4 under 812`, where 812 is
    the command's process id; null if it is the only one."""
    started_at: str
    alive: bool
    """Whether its last heartbeat is within its lease."""
    lease_until: str
    draining: bool
    """Whether it finishes its open requests and starts no new ones."""
    in_flight: int
    pages: list[str]
    """The pages that it is fetching."""
    leases: int
    """How many sources it has leased."""
    memory_bytes: int | None
    """Its resident memory, with the processes that run its scrapers; null where its system does not
    tell."""


class WorkerList(BaseModel):
    workers: list[Worker]
    """Ordered by start, the oldest first."""
    alive: int


@router.get("/workers", responses=problems())
async def list_workers(backend: TheBackend) -> WorkerList:
    """All workers: the machine, whether the worker is alive, its pages in flight and its leases."""
    found = await backend.read(lambda c: all_workers(c, now=backend.clock.now()))
    return WorkerList(workers=[_worker(one) for one in found], alive=sum(w.alive for w in found))


def _worker(worker: WorkerStatus) -> Worker:
    return Worker(
        id=worker.id, machine=worker.machine, pid=worker.pid, program=worker.program,
        process=None if worker.place is None else str(worker.place),
        started_at=rfc3339(worker.started_at), alive=worker.alive,
        lease_until=rfc3339(worker.lease_until), draining=worker.draining,
        in_flight=len(worker.in_flight), pages=[page_name(page) for page in worker.in_flight],
        leases=worker.leases, memory_bytes=worker.memory_bytes,
    )  # fmt: skip
