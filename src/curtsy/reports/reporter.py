"""Makes reports and stores them: on the last hours, or since the last report of the timetable."""

import asyncio

from curtsy.clock import HOUR, MINUTE, Clock
from curtsy.history.roll_up import span_at
from curtsy.history.rows import Span
from curtsy.history.steps import HistorySteps
from curtsy.politeness.policy import Policy
from curtsy.reports.report import Report, Trigger, new_report_id
from curtsy.reports.report_builder import ReportOrder, build_report
from curtsy.reports.stored_reports import end_of_last, leave_chain, store_report
from curtsy.store import Connection, Store

USUAL = 6 * HOUR
LONGEST = 7 * 24 * HOUR
"""After a pause, the first report of the timetable goes back no further."""
STEP = Span.TEN_MINUTES
"""Reports of the timetable begin and end with one: the history counts no shorter ones for longer
than three hours."""
FLUSHED_WITHIN = MINUTE
"""What happened is appended to the history within this time, unless the store was away."""
MOST_HOURS = 8_760


class Reporter:
    def __init__(self, *, store: Store, clock: Clock, policy: Policy) -> None:
        """`policy`: of sources that nobody described."""
        self._store, self._clock, self._policy = store, clock, policy
        self._one_at_a_time = asyncio.Lock()

    async def on_last_hours(self, hours: int) -> Report:
        """Makes a report by hand, up to this moment."""
        now = self._clock.now()
        begin = now - hours * HOUR
        report = await self._build("manual", span_at(begin, now=now).begin(begin), now, now)
        await self._store.write(lambda c: store_report(c, report))
        return report

    async def since_last(self) -> Report | None:
        """Makes the next report of the timetable; None: there is one already.

        Its period begins and ends where rows of the history do, so that the reports of the
        timetable together count nothing twice, and leave out nothing but a part of an hour after a
        pause of days. Reports on a time to come are from before a clock was set back."""
        now = self._clock.now()
        until = STEP.begin(now - FLUSHED_WITHIN)
        last = await self._store.read(end_of_last)
        if last is not None and last > now:
            await self._store.write(lambda c: leave_chain(c, after=now))
            last = await self._store.read(end_of_last)
        since = until - USUAL if last is None else max(last, until - LONGEST)
        since = _end(span_at(since, now=now), since)
        if since >= until:
            return None
        report = await self._build("schedule", since, until, now)
        return report if await self._store.write(lambda c: store_report(c, report)) else None

    async def _build(self, trigger: Trigger, since: int, until: int, now: int) -> Report:
        """Folds what flushes have appended first, so that the last minutes are in the report."""
        await HistorySteps(store=self._store, clock=self._clock).fold_all()
        order = ReportOrder(new_report_id(), trigger, since, until, now, self._policy)

        def build(connection: Connection) -> Report:
            return build_report(connection, order)

        async with self._one_at_a_time:  # requests for reports are few, or they wait
            return await self._store.read(build, large=True)


def _end(span: Span, instant: int) -> int:
    """The instant, or the end of the span that it divides: after a pause of days the history counts
    whole hours, and a part of the first one is in the report before."""
    return -(-instant // span.ms) * span.ms
