"""The maintenance task `health`: how much succeeds, what waits, which workers are up, and how fast
the database answers.

It logs the figures as one line, and a warning for everything that is wrong.
"""

from dataclasses import dataclass

from curtsy import __version__
from curtsy.clock import HOUR, SECOND, Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.history.reader import totals
from curtsy.history.totals import Totals
from curtsy.logs import logger
from curtsy.model.counts import are, counted
from curtsy.reports.diagnosis import Diagnosis, diagnose
from curtsy.reports.failing_sources import FailingSource, failing_sources
from curtsy.reports.findings.database import of_held_back, of_space
from curtsy.reports.findings.finding import Finding, Severity, sorted_by_severity
from curtsy.reports.findings.processes import of_processes
from curtsy.reports.findings.sources import of_sources
from curtsy.reports.findings.success import of_success
from curtsy.reports.queue import QueueReport, queue_report
from curtsy.store import Connection, Statement, Store
from curtsy.store.held_back import read_held_back
from curtsy.store.space import read_space

log = logger("maintenance")

PERIOD = HOUR
"""The success rate is that of so many milliseconds."""
MOST_NAMED = 3
"""Findings that the task's sentence names; the log has all."""

_PING = Statement("SELECT 1")


@dataclass(frozen=True, slots=True)
class Health:
    """What one check read."""

    diagnosis: Diagnosis
    queue: QueueReport
    happened: Totals
    failing: list[FailingSource]
    database_ms: int
    """How long the database took to answer."""

    @property
    def waiting(self) -> int:
        return self.queue.startable

    @property
    def later(self) -> int:
        """Retries that are not due yet."""
        return sum(band.later_retries for band in self.queue.bands.values())

    def figures(self) -> dict[str, int | float | None]:
        """For a line of the log."""
        rate, oldest = self.happened.success_rate, self.queue.oldest
        return {
            "success_rate": None if rate is None else round(rate, 4),
            "succeeded": self.happened.succeeded, "failed": self.happened.failed,
            "retries": self.happened.retries, "waiting": self.waiting, "later": self.later,
            **{f"waiting_{band.name.lower()}": queue.waiting + queue.due_retries
               for band, queue in self.queue.bands.items()},
            "in_flight": self.queue.in_flight,
            "oldest_wait_seconds": 0 if oldest is None
                                   else max(0, self.queue.at - oldest) // SECOND,
            "workers": len(self.queue.live), "schedulers": self.diagnosis.schedulers,
            "dead_letters": self.diagnosis.dead_letters.number, "database_ms": self.database_ms,
        }  # fmt: skip


class HealthCheck:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def run(self) -> str:
        """Returns a sentence: what is wrong, or that nothing is. Raises `StoreAway` or `StoreFull`
        where the database does not answer, after a line in the log."""
        try:
            health, findings = await self._check()
        except (StoreAway, StoreFull) as away:
            log.warning("health_problem", severity=Severity.PROBLEM, code=away.code,
                        meaning=str(away))  # fmt: skip
            raise
        wrong = [one for one in findings if one.severity is not Severity.NOTICE]
        log.info("health_checked", findings=len(wrong), **health.figures())
        for finding in wrong:
            log.warning("health_problem", severity=finding.severity, code=finding.code,
                        meaning=finding.text)  # fmt: skip
        return sentence(health, wrong)

    async def _check(self) -> tuple[Health, list[Finding]]:
        began = self._clock.monotonic()
        await self._store.read(lambda c: _PING(c).scalar())
        answered_in = self._clock.monotonic() - began
        health = await self._store.read(lambda c: self._read(c, answered_in), large=True)
        space, is_full = await read_space(self._store), await self._store.is_full()
        held_back = await self._store.read(read_held_back)
        return health, sorted_by_severity([
            *of_processes(health.diagnosis, program=f"curtsy {__version__}"),
            *of_success(health.happened),
            *of_space(space, engine=health.diagnosis.engine, is_full=is_full,
                      has_room=await self._store.has_room()),
            *of_held_back(held_back),
            *of_sources(health.failing, now=health.diagnosis.now),
        ])  # fmt: skip

    def _read(self, connection: Connection, database_ms: int) -> Health:
        now = self._clock.now()
        return Health(
            diagnosis=diagnose(connection, sources=0, now=now),
            queue=queue_report(connection, now=now),
            happened=totals(connection, since=now - PERIOD, until=now),
            failing=failing_sources(connection, now=now), database_ms=database_ms,
        )  # fmt: skip


def sentence(health: Health, wrong: list[Finding]) -> str:
    happened, workers = health.happened, len(health.queue.live)
    rate = happened.success_rate
    ended = happened.succeeded + happened.failed
    pages = "No page ended in the last hour" if rate is None else (
        f"{rate:.0%} of {counted(ended, 'page')} of the last hour succeeded"
    )  # fmt: skip
    state = (
        f"{pages}; {health.waiting} wait, {counted(workers, 'worker')} {are(workers)} up, the "
        f"database answers in {health.database_ms} ms"
    )
    if not wrong:
        return f"Nothing is wrong. {state}."
    named = " ".join(finding.sentence for finding in wrong[:MOST_NAMED])
    more = f" And {len(wrong) - MOST_NAMED} more: see the log." if len(wrong) > MOST_NAMED else ""
    return f"{named}{more} {state}."
