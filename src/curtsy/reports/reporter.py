"""Makes reports and stores them: on the last hours, or since the last report of the timetable."""

import asyncio

from curtsy.clock import HOUR, MINUTE, Clock
from curtsy.history.steps import HistorySteps
from curtsy.politeness.policy import Policy
from curtsy.reports.report import Report, Trigger, new_report_id
from curtsy.reports.report_builder import ReportOrder, build_report
from curtsy.reports.stored_reports import end_of_last, store_report
from curtsy.store import Connection, Store

USUAL = 6 * HOUR
LONGEST = 7 * 24 * HOUR
"""After a pause, the first report of the timetable goes back no further."""
SHORTEST = MINUTE
MOST_HOURS = 8_760


class Reporter:
    def __init__(self, *, store: Store, clock: Clock, policy: Policy) -> None:
        """`policy`: of sources that nobody described."""
        self._store, self._clock, self._policy = store, clock, policy
        self._one_at_a_time = asyncio.Lock()

    async def on_last_hours(self, hours: int) -> Report:
        """Makes a report by hand, up to this moment."""
        now = self._clock.now()
        report = await self._build("manual", _minute(now - hours * HOUR), now, now)
        await self._store.write(lambda c: store_report(c, report))
        return report

    async def since_last(self) -> Report | None:
        """Makes the next report of the timetable; None: there is one already.

        Its period ends with a whole minute, as the history counts, so that the reports of the
        timetable together count everything once."""
        now = self._clock.now()
        until = _minute(now)
        last = await self._store.read(end_of_last)
        since = until - USUAL if last is None or last > now else max(last, until - LONGEST)
        if until - since < SHORTEST:
            return None
        report = await self._build("schedule", since, until, now)
        return report if await self._store.write(lambda c: store_report(c, report)) else None

    async def _build(self, trigger: Trigger, since: int, until: int, now: int) -> Report:
        """Folds what flushes have appended first, so that the last minutes are in the report."""
        await HistorySteps(store=self._store, clock=self._clock).fold()
        order = ReportOrder(new_report_id(), trigger, since, until, now, self._policy)

        def build(connection: Connection) -> Report:
            return build_report(connection, order)

        async with self._one_at_a_time:  # requests for reports are few, or they wait
            return await self._store.read(build, large=True)


def _minute(instant: int) -> int:
    """The beginning of its minute."""
    return instant - instant % MINUTE
