"""`curtsy doctor`: what the database says about the system."""

import dataclasses
from typing import Annotated, Any

import orjson
import typer

from curtsy.app import opened
from curtsy.cli.starting import run, settings_for
from curtsy.cli.table import table
from curtsy.clock import rfc3339
from curtsy.config import Settings
from curtsy.operations.examination import Count, Examination, Source, Worker, examine
from curtsy.store.upgrade import newest, require_known_schema


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    sources: Annotated[int, typer.Option(min=0, max=10_000, help="How many to show.")] = 20,
) -> None:
    """What there is, who works on it, what is wrong; reads the database, changes nothing."""
    found = run(_examine(settings_for(), sources))
    print(
        orjson.dumps(_plain(found), option=orjson.OPT_INDENT_2).decode()
        if as_json
        else _page(found)
    )


async def _examine(settings: Settings, sources: int) -> Examination:
    async with opened(settings) as store:
        await require_known_schema(store)
        return await store.read(lambda c: examine(c, sources=sources))


def _plain(found: Examination) -> dict[str, Any]:
    """For JSON: instants in RFC 3339."""
    plain = dataclasses.asdict(found)
    for row in (plain, *plain["workers"], *plain["sources"]):
        for name in ("now", "lease_until", "ready_at", "next_fetch_at", "failing_since"):
            if row.get(name) is not None:
                row[name] = rfc3339(row[name])
    return {"schema": newest(), **plain}


def _page(found: Examination) -> str:
    jobs = ", ".join(f"{_number(count)} {state}" for state, count in found.open_jobs.items())
    facts = [
        ("Schema", newest()),
        ("Database", found.engine),
        ("Database's time", rfc3339(found.now)),
        ("Open jobs", jobs),
        ("Pending visits", _number(found.pending_visits)),
        ("Dead letters", _number(found.dead_letters)),
    ]
    width = max(len(name) for name, _ in facts)
    lines = [f"{name:<{width}}  {value}" for name, value in facts]
    workers = [_worker_row(worker, found.now) for worker in found.workers]
    sources = [_source_row(source, found.now) for source in found.sources]
    shown = f"{len(sources)} of {_number(found.sources_in_all)}"
    return "\n".join([
        *lines,
        "", f"Workers ({len(workers)})",
        *table(("id", "machine", "pid", "lease", "in flight", "state"), workers),
        "", f"Sources ({shown})",
        *table(("name", "owner", "epoch", "band", "ready", "next fetch", "failures", "crashes",
                "paused"), sources),
    ])  # fmt: skip


def _worker_row(worker: Worker, now: int) -> tuple[str, ...]:
    state = "draining" if worker.draining else "alive"
    return (worker.id, worker.machine, str(worker.pid), _away(worker.lease_until, now),
            str(worker.in_flight), state if worker.alive else "silent")  # fmt: skip


def _source_row(source: Source, now: int) -> tuple[str, ...]:
    return (source.name, source.owner or "-", str(source.epoch), str(source.band),
            _away(source.ready_at, now), _away(source.next_fetch_at, now),
            str(source.fail_streak), str(source.crash_streak),
            "yes" if source.paused else "no")  # fmt: skip


def _away(instant: int | None, now: int) -> str:
    """How far off, for eyes: `in 3.2 s`, `12 s ago`."""
    if instant is None:
        return "-"
    seconds = abs(instant - now) / 1000
    shown = f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"in {shown}" if instant > now else f"{shown} ago"


def _number(count: Count) -> str:
    return f"more than {count.number}" if count.capped else str(count.number)
