"""The maintenance task `reports`: a report on the time since the last one."""

from curtsy.clock import Clock
from curtsy.politeness.policy import Policy
from curtsy.reports.formats import hours, number, percent
from curtsy.reports.reporter import Reporter
from curtsy.store import Store

ALREADY_MADE = "The last report has all whole ten minutes until now, so no other was made."


async def make_report(store: Store, clock: Clock, policy: Policy) -> str:
    """Makes and stores the next report of the timetable; returns a sentence about it."""
    report = await Reporter(store=store, clock=clock, policy=policy).since_last()
    if report is None:
        return ALREADY_MADE
    ended = report.figures.ended
    rate = f", {percent(report.figures.success_rate)} of them succeeded" if ended else ""
    pages = "1 page" if ended == 1 else f"{number(ended)} pages"
    return f"Report {report.id} on {hours(report.minutes)}: {pages} ended{rate}."
