"""Formats the diagnosis of `curtsy doctor`, as text and as JSON."""

import dataclasses
from typing import TYPE_CHECKING, Any

from curtsy.cli.console.table import table
from curtsy.clock import rfc3339

if TYPE_CHECKING:
    from curtsy.model.counts import Count
    from curtsy.reports.diagnosis import Diagnosis, Source, Worker

INSTANTS = ("now", "lease_until", "ready_at", "next_fetch_at", "failing_since")
WORKER_HEADINGS = ("id", "machine", "pid", "lease", "in flight", "state")
SOURCE_HEADINGS = ("name", "owner", "ready", "next fetch", "failures", "crashes", "paused")


def plain(found: "Diagnosis") -> dict[str, Any]:
    """The diagnosis for JSON, with instants in RFC 3339."""
    rows = dataclasses.asdict(found)
    for row, worker in zip(rows["workers"], found.workers, strict=True):
        del row["place"]
        row["process"] = None if worker.place is None else str(worker.place)
    for row in (rows, *rows["workers"], *rows["sources"]):
        for name in INSTANTS:
            if row.get(name) is not None:
                row[name] = rfc3339(row[name])
    return rows | {"problems": found.problems, "notices": found.notices}


def page(schema: str, found: "Diagnosis") -> str:
    jobs = ", ".join(f"{_number(count)} {state}" for state, count in found.open_jobs.items())
    facts = [
        ("Schema", schema),
        ("Database", found.engine),
        ("Database's time", rfc3339(found.now)),
        ("Open jobs", jobs),
        ("Pending visits", _number(found.pending_visits)),
        ("Dead letters", _number(found.dead_letters)),
    ]
    width = max(len(name) for name, _ in facts)
    lines = [f"{name:<{width}}  {value}" for name, value in facts]
    worker_headings, workers = _worker_rows(found)
    sources = [_source_row(source, found.now) for source in found.sources]
    shown = f"{len(sources)} of {_number(found.sources_in_all)}"
    return "\n".join([
        *lines,
        "", f"Workers ({len(workers)})",
        *table(worker_headings, workers, cut=("machine",)),
        "", f"Sources ({shown})",
        *table(SOURCE_HEADINGS, sources, cut=("name", "owner")),
        *_advice(found),
    ])  # fmt: skip


def _advice(found: "Diagnosis") -> list[str]:
    """Commands that help, where something is wrong."""
    advice = [*(f"Problem: {problem}" for problem in found.problems), *found.notices]
    if found.dead_letters.number:
        advice.append("`curtsy dead-letters` shows which pages curtsy gave up on, and why.")
    return ["", *advice] if advice else []


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
            str(worker.in_flight), state if worker.alive else "silent")  # fmt: skip


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
