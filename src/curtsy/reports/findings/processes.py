"""Findings about workers and schedulers."""

from collections import Counter
from collections.abc import Iterable, Iterator

from curtsy.model.counts import are, counted, megabytes
from curtsy.reports.diagnosis import Diagnosis, Scheduler, Worker
from curtsy.reports.findings.finding import Finding, Severity

MOST_NAMED = 3
"""Processes that one sentence names."""


def of_processes(
    found: Diagnosis, *, program: str, memory_limit: int | None = None
) -> Iterator[Finding]:
    """`program` is the name and version of this program; `memory_limit` that of a worker here."""
    yield from _without_worker(found)
    yield from _without_scheduler(found)
    yield from _silent(found)
    yield from _other_versions(found, program)
    if memory_limit is not None:
        yield from _large(found.workers, memory_limit)
    yield from _missing(found.workers)


def _without_worker(found: Diagnosis) -> Iterator[Finding]:
    waiting = found.pending_visits.number
    open_jobs = sum(found.open_jobs[state].number for state in ("queued", "running"))
    if not (waiting or open_jobs):
        return
    what = "Pages wait" if waiting else "Jobs wait"
    alive = [worker for worker in found.workers if worker.alive]
    if not alive:
        yield Finding(Severity.PROBLEM, "no_worker", f"{what} and no worker is up.",
                      "`curtsy up` or `curtsy worker` starts one.")  # fmt: skip
    elif all(worker.draining for worker in alive):
        yield Finding(Severity.PROBLEM, "no_worker", f"{what} and every worker is shutting down.",
                      "`curtsy worker` starts another.")  # fmt: skip


def _without_scheduler(found: Diagnosis) -> Iterator[Finding]:
    if found.late_schedules.number and not found.schedulers:
        yield Finding(
            Severity.PROBLEM, "no_scheduler", "Schedules are due and no scheduler is up.",
            "`curtsy up` or `curtsy scheduler` starts one.",
        )  # fmt: skip


def _silent(found: Diagnosis) -> Iterator[Finding]:
    workers = [worker for worker in found.workers if not worker.alive]
    if workers:
        yield Finding(
            Severity.WARNING, "silent_worker",
            f"{counted(len(workers), 'worker')} {are(len(workers))} silent: {_named(workers)}.",
            "look at the log there. Other workers take over what it held within a lease; if none "
            "is up, `curtsy worker` starts one, and it takes over.",
        )  # fmt: skip
    schedulers = [one for one in found.scheduler_processes if not one.alive]
    if schedulers:
        number = len(schedulers)
        yield Finding(
            Severity.WARNING, "silent_scheduler",
            f"{counted(number, 'scheduler')} {are(number)} silent: {_named(schedulers)}.",
            "look at the log there; `curtsy scheduler` starts another.",
        )  # fmt: skip


def _other_versions(found: Diagnosis, program: str) -> Iterator[Finding]:
    for what, processes in (("worker", found.workers), ("scheduler", found.scheduler_processes)):
        others = [one for one in processes if one.alive and one.program != program]
        if others:
            counts = sorted(Counter(one.program for one in others).items())
            versions = ", ".join(f"{number} {name}" for name, number in counts)
            yield Finding(
                Severity.WARNING, f"{what}_version",
                f"{counted(len(others), what)} {are(len(others))} of another version than this "
                f"program, {program}: {versions}.",
                "this is all right during an upgrade; afterwards, restart them.",
            )  # fmt: skip


def _large(workers: Iterable[Worker], limit: int) -> Iterator[Finding]:
    for worker in workers:
        if worker.alive and (worker.memory_bytes or 0) > limit:
            yield Finding(
                Severity.WARNING, "worker_memory",
                f"The worker {worker.id} on {worker.machine} (process {worker.pid}) uses "
                f"{megabytes(worker.memory_bytes or 0)}, more than {megabytes(limit)} "
                "(WORKER_MEMORY_BYTES).",
                "a `curtsy worker` restarts by itself; restart a `curtsy up` when it suits.",
            )  # fmt: skip


def _missing(workers: Iterable[Worker]) -> Iterator[Finding]:
    """Processes of commands that run several workers."""
    alive: Counter[tuple[str, int, int]] = Counter()
    for worker in workers:
        if worker.place is not None:
            alive[worker.machine, worker.place.supervisor, worker.place.processes] += worker.alive
    for (machine, supervisor, processes), number in alive.items():
        if 0 < number < processes:
            missing = processes - number
            yield Finding(
                Severity.NOTICE, "missing_workers",
                f"Of the {processes} workers under process {supervisor} on {machine}, "
                f"{missing} {are(missing)} not up.",
                "they are started again, and the log says why they ended.",
            )  # fmt: skip


def _named(processes: Iterable[Worker] | Iterable[Scheduler]) -> str:
    names = [f"{one.id} on {one.machine} (process {one.pid})" for one in processes]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
