"""The maintenance tasks, by name. Any process may run each of them, any number of times."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from curtsy.clock import Clock
from curtsy.jobs import LetterSelection, Settled, retry_letters
from curtsy.maintenance.cleanup import Cleanup
from curtsy.maintenance.health_check import HealthCheck
from curtsy.maintenance.report import make_report
from curtsy.model.counts import are, counted
from curtsy.model.failure_kinds import RULES
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Statement, Store

NAMES = ("health", "reports", "dead_letters", "cleanup")
POLICY = Policy()
BATCH = 1_000
MOST_RETRIES = 3
"""Automatic retries of one page."""

_RECOVERED = Statement(
    """
    SELECT d.id FROM dead_letters d JOIN sources s ON s.id = d.source_id
    WHERE d.state = 'open' AND NOT d.final AND d.kind IN (SELECT kind FROM {retried})
      AND d.id > :after
      AND s.failing_since IS NULL AND s.fail_streak = 0 AND NOT s.paused
      AND (SELECT count(*) FROM dead_letters e
           WHERE e.page_id = d.page_id AND e.state = 'retried') < :most_retries
      AND NOT EXISTS (
        SELECT 1 FROM items i JOIN jobs j ON j.id = i.job_id
        JOIN jobs k ON k.site_id = j.site_id AND k.id <> j.id
        WHERE i.page_id = d.page_id AND i.state = 2 AND j.state <> 'cancelled'
          AND k.site_id IS NOT NULL AND (k.finished_at IS NULL OR k.created_at > j.created_at))
    ORDER BY d.id LIMIT :most
    """,
    retried={"kind": "text"},
)
_LOCK_SITES = Statement(
    """
    SELECT s.id FROM sites s WHERE s.id IN (
        SELECT j.site_id FROM {wanted} JOIN dead_letters d ON d.id = wanted.id
        JOIN items i ON i.page_id = d.page_id AND i.state = 2 JOIN jobs j ON j.id = i.job_id
        WHERE j.site_id IS NOT NULL)
    ORDER BY s.id {lock}
    """,
    wanted={"id": "bigint"},
)


class MaintenanceTasks:
    def __init__(
        self, *, store: Store, clock: Clock, keep_days: int, trusts_clock: bool = False,
        policy: Policy = POLICY,
    ) -> None:  # fmt: skip
        """`trusts_clock`: deletes by age even if the time has just gone ahead by far. `policy`: of
        sources that nobody described."""
        self._store, self._clock, self._policy = store, clock, policy
        self.cleanup = Cleanup(store=store, clock=clock, keep_days=keep_days,
                               trusts_clock=trusts_clock)  # fmt: skip

    def by_name(self) -> Mapping[str, Callable[[], Awaitable[str]]]:
        """Returns the tasks; each returns a sentence about what it did."""
        health = HealthCheck(store=self._store, clock=self._clock)
        return {"health": health.run, "dead_letters": self._dead_letters,
                "cleanup": self.cleanup.run, "reports": self._report}  # fmt: skip

    async def _report(self) -> str:
        return await make_report(self._store, self._clock, self._policy)

    async def _dead_letters(self) -> str:
        """Retries pages that failed for a temporary reason, once their source works again. Never
        reopens a run of a site while another run is open, or after a newer one."""
        settled, after = Settled(), 0
        while ids := await self._store.read(lambda c: _recovered(c, after)):  # noqa: B023
            now = self._clock.now()
            settled += await self._store.write(lambda c: _retry(c, ids, now=now))  # noqa: B023
            after = ids[-1]
        retried = f"{counted(settled.pages, 'failed page')} {are(settled.pages)}"
        if not settled.resolved:
            return f"{retried} retried."
        resolved = f"{counted(settled.resolved, 'dead letter')} {are(settled.resolved)}"
        pages = "the page" if settled.resolved == 1 else "their pages"
        return f"{retried} retried; {resolved} resolved, since no job wants {pages} any more."


def _retry(connection: Connection, ids: Sequence[int], *, now: int) -> Settled:
    """Locks the sites of these dead letters, so that no run of them starts, and retries those that
    may still be retried."""
    _LOCK_SITES(connection, wanted=[(i,) for i in ids]).all()
    still = set(_recovered(connection, ids[0] - 1)) & set(ids)
    return retry_letters(connection, LetterSelection(sorted(still)), now=now)


def _recovered(connection: Connection, after: int) -> list[int]:
    kinds = [(kind.value,) for kind, rule in RULES.items() if rule.retried]
    return list(_RECOVERED(connection, retried=kinds, after=after, most_retries=MOST_RETRIES,
                           most=BATCH).scalars())  # fmt: skip
