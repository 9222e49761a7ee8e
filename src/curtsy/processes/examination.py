"""Reads all that `curtsy doctor` reports: of the database, this machine, the operator's files."""

import asyncio
from dataclasses import dataclass

from curtsy import __version__
from curtsy.clock import wall_time
from curtsy.config import Settings, worker_settings
from curtsy.config.exposed_files import exposed_files, missing_secrets
from curtsy.errors import StoreAway, StoreFull
from curtsy.extract.confinement_check import MachineConfinement, check_confinement
from curtsy.processes.startup import opened
from curtsy.reports.diagnosis import Diagnosis, diagnose
from curtsy.reports.failing_sources import FailingSource, failing_sources
from curtsy.reports.findings.database import of_clocks, of_held_back, of_space
from curtsy.reports.findings.finding import Finding, sorted_by_severity
from curtsy.reports.findings.machine import of_machine
from curtsy.reports.findings.processes import of_processes
from curtsy.reports.findings.sources import of_logins, of_sources
from curtsy.reports.resting_logins import RestingLogin, resting_logins
from curtsy.store import Store
from curtsy.store.held_back import HeldBack, read_held_back
from curtsy.store.space import Space, read_space
from curtsy.store.version import newest, require_known_schema


@dataclass(frozen=True, slots=True)
class Examination:
    schema: str
    diagnosis: Diagnosis
    failing: list[FailingSource]
    resting: list[RestingLogin]
    held_back: HeldBack
    space: Space
    has_room: bool
    """For new work."""
    is_full: bool
    skew: int
    """Milliseconds that this machine's clock is ahead of the database's, give or take `doubt`."""
    doubt: int
    confinement: MachineConfinement
    exposed: list[str]
    missing_secrets: list[str]
    memory_limit: int | None
    """Of a worker with these settings."""

    @property
    def findings(self) -> list[Finding]:
        return sorted_by_severity([
            *of_processes(self.diagnosis, program=f"curtsy {__version__}",
                          memory_limit=self.memory_limit),
            *of_space(self.space, engine=self.diagnosis.engine, has_room=self.has_room,
                      is_full=self.is_full),
            *of_held_back(self.held_back),
            *of_clocks(self.skew, uncertainty=self.doubt),
            *of_sources(self.failing, now=self.diagnosis.now),
            *of_logins(self.resting),
            *of_machine(self.confinement, exposed=self.exposed,
                        missing_secrets=self.missing_secrets),
        ])  # fmt: skip


async def examine(settings: Settings, *, sources: int) -> Examination:
    """Changes nothing. Shows at most so many sources."""
    async with opened(settings) as store:
        is_full = await store.is_full()
        try:
            await require_known_schema(store)
            diagnosis, skew, doubt = await _diagnosis(store, sources)
            failing = await store.read(lambda c: failing_sources(c, now=diagnosis.now))
            resting = await store.read(lambda c: resting_logins(c, now=diagnosis.now))
            held_back = await store.read(read_held_back)
        except StoreAway as away:
            if is_full:  # SQLite cannot even be read where its index cannot be made
                raise StoreFull("no room for its log") from away
            raise
        return Examination(
            schema=newest(), diagnosis=diagnosis, failing=failing, resting=resting,
            held_back=held_back,
            space=await read_space(store), has_room=await store.has_room(), is_full=is_full,
            skew=skew, doubt=doubt,
            confinement=await asyncio.to_thread(check_confinement),
            exposed=exposed_files(settings), missing_secrets=missing_secrets(settings),
            memory_limit=worker_settings(settings).memory_bytes,
        )  # fmt: skip


async def _diagnosis(store: Store, sources: int) -> tuple[Diagnosis, int, int]:
    """The diagnosis, and what it tells of the clocks: the database read its own in between."""
    before = wall_time()
    diagnosis = await store.read(lambda c: diagnose(c, sources=sources))
    after = wall_time()
    return diagnosis, (before + after) // 2 - diagnosis.now, (after - before) // 2 + 1
