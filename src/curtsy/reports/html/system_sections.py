"""The sections about the system and its manners: courtesy, sites, schedules, workers."""

from curtsy.reports.formats import NONE, days, number, percent, size, span
from curtsy.reports.formats import moment as moment_of
from curtsy.reports.html.markup import NOTHING, Html, element, html, joined, named
from curtsy.reports.html.page_sections import ASIDE, NUMBER, section
from curtsy.reports.html.tables import Column, table
from curtsy.reports.report import Courtesy, Report


def courtesy(report: Report) -> Html:
    found = report.courtesy
    if not found.requests:
        return NOTHING
    parts = [
        element("p", "Receipts are kept by day, so these figures are of "
                f"{days(found.first_day, found.last_day)} (UTC).", class_="note"),
        _facts({
            "requests": number(found.requests),
            "sources": number(found.sources),
            "unchanged (304)": percent(found.not_modified / found.requests),
            "not sent again": size(found.bytes_saved),
            "received": size(found.bytes),
            "left out by robots.txt": number(found.robots_refusals),
            "rests that sites asked for": number(found.rests_announced),
            "rests after failures": number(found.rests_of_our_own),
        }),
        _gaps(found),
    ]  # fmt: skip
    return section("Courtesy", *parts)


def _gaps(found: Courtesy) -> Html:
    if not found.closest:
        return NOTHING
    said = "No source was requested faster than its policy allows."
    if found.too_close:
        several = "One source was" if found.too_close == 1 else f"{found.too_close:,} sources were"
        said = (f"{several} requested faster than the present policy allows: its delay may have "
                "been raised since.")  # fmt: skip
    columns = (Column("source"), Column("smallest gap", NUMBER), Column("allowed", NUMBER))
    rows = [(named(line.source), span(line.smallest_gap_ms), span(line.allowed_gap_ms))
            for line in found.closest]  # fmt: skip
    return joined([element("p", said), table("Requests closest to the limit", columns, rows)])


def _facts(facts: dict[str, str]) -> Html:
    return element("dl", *(element("div", element("dt", name), element("dd", value))
                           for name, value in facts.items()), class_="facts")  # fmt: skip


def sites(report: Report) -> Html:
    found = report.sites
    if not found.runs:
        return NOTHING
    columns = (Column("site"), Column("runs", ASIDE), Column("failed", NUMBER),
               Column("new records", NUMBER), Column("changed", NUMBER),
               Column("removed", NUMBER))  # fmt: skip
    lines = [(named(line.site), *map(number, (line.runs, line.failed_runs, line.new, line.changed,
                                              line.removed)))
             for line in found.lines]  # fmt: skip
    totals = (found.runs, found.failed_runs, found.new, found.changed, found.removed)
    rows = [*lines, (element("b", "all sites"), *map(number, totals))]
    note = element("p", "Only records of the newest runs were counted.", class_="note")
    return section("Sites", table("Runs that ended, and the records that they found", columns,
                                  rows), note if found.capped else NOTHING)  # fmt: skip


def schedules(report: Report) -> Html:
    found = report.schedules
    if not (found.fired or found.missed or found.skipped or found.refused):
        return NOTHING
    facts = _facts({
        "slots fired": number(found.fired), "more than a minute late": number(found.late),
        "missed": number(found.missed), "refused": number(found.refused),
        "skipped": number(found.skipped), "largest lag": span(found.largest_lag_ms),
    })  # fmt: skip
    if not found.lines:
        return section("Schedules", facts)
    columns = (Column("schedule"), Column("fired", ASIDE), Column("late", NUMBER),
               Column("missed", NUMBER), Column("refused", NUMBER))  # fmt: skip
    rows = [(named(line.schedule), *map(number, (line.fired, line.late, line.missed,
                                                 line.refused)))
            for line in found.lines]  # fmt: skip
    return section("Schedules", facts, table("Schedules with slots that were late, missed or "
                                             "refused", columns, rows))  # fmt: skip


def workers(report: Report) -> Html:
    waiting = f"{number(report.waiting)}{'+' * report.waiting_is_capped}"
    backlog = element("p", f"Pages that wait, now or for a later time: {waiting}.")
    if not report.workers:
        return section("Workers", element("p", "No worker was up at the end of the period."),
                       backlog)  # fmt: skip
    columns = (Column("worker"), Column("state"), Column("memory", NUMBER),
               Column("open requests", NUMBER), Column("up since (UTC)", ASIDE))  # fmt: skip
    rows = [
        (joined([named(line.machine), html(f", process {line.pid}")]),
         "alive" if line.alive else element("span", "silent", class_="worse"),
         NONE if line.memory_bytes is None else size(line.memory_bytes),
         f"{number(line.open_requests)} of {number(line.slots)}", moment_of(line.started_at))
        for line in report.workers
    ]  # fmt: skip
    more = report.workers_in_all - len(report.workers)
    note = element("p", f"And {more:,} more.", class_="note") if more > 0 else NOTHING
    return section("Workers", table("At the end of the period", columns, rows), note, backlog)


def sections(report: Report) -> Html:
    return joined(part(report) for part in (courtesy, sites, schedules, workers))
