"""Formats the diagnosis of `curtsy doctor`, as text and as JSON."""

import dataclasses
from typing import TYPE_CHECKING, Any

from curtsy.cli.console.table import table
from curtsy.cli.views.confinement import confinement_lines
from curtsy.clock import rfc3339
from curtsy.model.counts import megabytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from curtsy.model.counts import Count
    from curtsy.processes.examination import Examination
    from curtsy.reports.diagnosis import Diagnosis, Source, Worker
    from curtsy.reports.findings.finding import Finding
    from curtsy.store.space import Space

INSTANTS = ("now", "lease_until", "ready_at", "next_fetch_at", "failing_since", "ticked_at")
WORKER_HEADINGS = ("id", "machine", "pid", "lease", "in flight", "memory", "state")
SOURCE_HEADINGS = ("name", "owner", "ready", "next fetch", "failures", "crashes", "paused")


def plain(found: "Examination", findings: "Sequence[Finding]") -> dict[str, Any]:
    """The examination for JSON, with instants in RFC 3339. The texts of the findings are there by
    severity, and each finding in its parts."""
    diagnosis = found.diagnosis
    rows = dataclasses.asdict(diagnosis)
    for row, worker in zip(rows["workers"], diagnosis.workers, strict=True):
        del row["place"]
        row["process"] = None if worker.place is None else str(worker.place)
    for row in (rows, *rows["workers"], *rows["sources"], *rows["scheduler_processes"]):
        for name in INSTANTS:
            if row.get(name) is not None:
                row[name] = rfc3339(row[name])
    texts = {f"{severity}s": [one.text for one in findings if one.severity == severity]
             for severity in ("problem", "warning", "notice")}  # fmt: skip
    return {
        "schema": found.schema, **rows, "disk_full": found.is_full,
        "space": dataclasses.asdict(found.space), "clock_ahead_ms": found.skew,
        "confinement": dataclasses.asdict(found.confinement), **texts,
        "findings": [finding._asdict() for finding in findings],
    }  # fmt: skip


def page(found: "Examination", findings: "Sequence[Finding]") -> str:
    diagnosis = found.diagnosis
    jobs = ", ".join(f"{_number(count)} {state}" for state, count in diagnosis.open_jobs.items())
    facts = [
        ("Schema", found.schema),
        ("Database", f"{diagnosis.engine}{_space(found.space)}"),
        ("Database's time", rfc3339(diagnosis.now)),
        ("Open jobs", jobs),
        ("Pending visits", _number(diagnosis.pending_visits)),
        ("Dead letters", _number(diagnosis.dead_letters)),
        ("Schedulers", str(diagnosis.schedulers)),
    ]
    width = max(len(name) for name, _ in facts)
    lines = [f"{name:<{width}}  {value}" for name, value in facts]
    worker_headings, workers = _worker_rows(diagnosis)
    sources = [_source_row(source, diagnosis.now) for source in diagnosis.sources]
    shown = f"{len(sources)} of {_number(diagnosis.sources_in_all)}"
    return "\n".join([
        *lines,
        "", f"Workers ({len(workers)})",
        *table(worker_headings, workers, cut=("machine",)),
        "", f"Sources ({shown})",
        *table(SOURCE_HEADINGS, sources, cut=("name", "owner")),
        *confinement_lines(found.confinement),
        *_advice(diagnosis, findings),
    ])  # fmt: skip


def _space(space: "Space") -> str:
    """Such as `, 812 MB, 3 MB log, 12.4 GB left on its disk`, as far as known."""
    sizes = ((space.database_bytes, ""), (space.wal_bytes, " log"),
             (space.free_bytes, " left on its disk"))  # fmt: skip
    return "".join(f", {megabytes(size)}{what}" for size, what in sizes if size is not None)


def _advice(diagnosis: "Diagnosis", findings: "Sequence[Finding]") -> list[str]:
    """The findings, the worst first, and where to look for the pages that were given up."""
    advice = [f"{finding.severity.capitalize()}: {finding.text}" for finding in findings]
    if diagnosis.dead_letters.number:
        advice.append("`curtsy dead-letters` shows which pages curtsy gave up on, and why.")
    return ["", *(advice or ["Nothing is wrong."])]


def _worker_rows(found: "Diagnosis") -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns the headings and the rows; their last column names the processes of commands that run
    several workers, if there are any."""
    rows = [_worker_row(worker, found.now) for worker in found.workers]
    if not any(worker.place for worker in found.workers):
        return WORKER_HEADINGS, rows
    places = [(str(worker.place or "-"),) for worker in found.workers]
    return (*WORKER_HEADINGS, "process"), [a + b for a, b in zip(rows, places, strict=True)]


def _worker_row(worker: "Worker", now: int) -> tuple[str, ...]:
    state = "draining" if worker.draining else "alive"
    return (worker.id, worker.machine, str(worker.pid),
            _away(worker.lease_until, now),
            str(worker.in_flight), _memory(worker.memory_bytes),
            state if worker.alive else "silent")  # fmt: skip


def _memory(number: int | None) -> str:
    return "-" if number is None else megabytes(number)


def _source_row(source: "Source", now: int) -> tuple[str, ...]:
    return (source.name, source.owner or "-", _away(source.ready_at, now),
            _away(source.next_fetch_at, now), str(source.fail_streak), str(source.crash_streak),
            "yes" if source.paused else "no")  # fmt: skip


def _away(instant: int | None, now: int) -> str:
    """The distance from now, such as `in 3.2 s` or `12 s ago`."""
    if instant is None:
        return "-"
    seconds = abs(instant - now) / 1000
    shown = f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"in {shown}" if instant > now else f"{shown} ago"


def _number(count: "Count") -> str:
    return f"more than {count.number}" if count.capped else str(count.number)
