"""What an operator should know first of a period: sentences, the most urgent first."""

from collections.abc import Callable, Iterator

from curtsy.clock import HOUR, SECOND
from curtsy.model.counts import counted
from curtsy.reports.formats import number, percent, span
from curtsy.reports.report import Finding, Report, SourceLine

MOST = 12
MOST_SOURCES = 4
LONGEST_NAME = 100
FEW_ENDED = 20
"""Pages below which a share says little."""
POOR_RATE = 0.80
NOTABLE_DROP = 0.05
FAILING_SHARE = 0.20
FEWEST_FAILED = 5
NEW_KIND = 10
"""Attempts that failed for a reason that did not exist before."""
SLOWER = 1.5
NOTABLY_SLOW = SECOND
MUCH_WAITING = HOUR

Findings = Iterator[Finding]


def findings(report: Report) -> tuple[Finding, ...]:
    checks: tuple[Callable[[Report], Findings], ...] = (
        _workers, _success, _failing_sources, _new_kinds, _schedules, _site_runs, _latency,
        _capacity, _courtesy,
    )  # fmt: skip
    return tuple(finding for check in checks for finding in check(report))[:MOST]


def _workers(report: Report) -> Findings:
    if report.waiting and not report.workers_alive:
        pages = counted(report.waiting, "page", capped=report.waiting_is_capped)
        wait = "waits" if pages == "1 page" else "wait"
        yield Finding("no_worker", f"{pages} {wait} and no worker is alive: `curtsy up` or "
                      "`curtsy worker` starts one.")  # fmt: skip


def _success(report: Report) -> Findings:
    now, before = report.figures, report.before
    if now.success_rate is None or now.ended < FEW_ENDED:
        return
    rate, was = percent(now.success_rate), before.success_rate if before is not None else None
    if was is not None and was - now.success_rate >= NOTABLE_DROP:
        yield Finding("success_fell", f"The success rate fell from {percent(was)} to {rate}.")
    elif now.success_rate < POOR_RATE:
        yield Finding("success_low", f"Only {rate} of the pages succeeded.")


def _failing_sources(report: Report) -> Findings:
    bad = [line for line in report.failing
           if line.failed >= max(FEWEST_FAILED, FAILING_SHARE * line.ended)]  # fmt: skip
    for line in bad[:MOST_SOURCES]:
        mostly = f", mostly for {line.worst_kind}" if line.worst_kind else ""
        yield Finding("source_failing", f"{_name(line)} failed for "
                      f"{percent(line.failed / line.ended)} of its pages{mostly}"
                      f"{_before(line)}.")  # fmt: skip


def _before(line: SourceLine) -> str:
    if line.failed_before is None:
        return ""
    return f"; in the period before, {counted(line.failed_before, 'page')} failed"


def _name(line: SourceLine) -> str:
    name = line.source
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _new_kinds(report: Report) -> Findings:
    if report.before is None:
        return
    for line in report.failures:
        if not line.before and line.number >= NEW_KIND:
            yield Finding("kind_new", f"The failure {line.kind} is new: {number(line.number)} "
                          f"attempts, none before. {line.remedy}".rstrip())  # fmt: skip


def _schedules(report: Report) -> Findings:
    found = report.schedules
    for verb, amount in (("missed", found.missed), ("refused", found.refused)):
        if amount:
            was = "was" if amount == 1 else "were"
            yield Finding(f"slots_{verb}", f"{counted(amount, 'slot')} of schedules {was} {verb}.")
    if found.late:
        lag = f", by up to {span(found.largest_lag_ms)}" if found.largest_lag_ms else ""
        yield Finding("slots_late", f"{counted(found.late, 'slot')} of schedules fired late{lag}.")


def _site_runs(report: Report) -> Findings:
    failed = report.sites.failed_runs
    if failed:
        yield Finding("runs_failed", f"In {number(failed)} of {number(report.sites.runs)} runs of "
                      "sites, pages failed.")  # fmt: skip


def _latency(report: Report) -> Findings:
    now, before = report.figures, report.before
    if before is None or now.fetch_p95_ms is None or not before.fetch_p95_ms:
        return
    if now.fetch_p95_ms >= max(NOTABLY_SLOW, SLOWER * before.fetch_p95_ms):
        yield Finding("fetch_slower", "Requests became slower: 95 in 100 took at most "
                      f"{span(now.fetch_p95_ms)}, before {span(before.fetch_p95_ms)}.")  # fmt: skip


def _capacity(report: Report) -> Findings:
    waits = report.waits
    if waits.capacity_ms >= max(MUCH_WAITING, waits.whole / 2):
        yield Finding("capacity_short", f"Pages waited {span(waits.capacity_ms)} in sum for a free "
                      "worker: more workers or slots would shorten that.")  # fmt: skip


def _courtesy(report: Report) -> Findings:
    close = report.courtesy.too_close
    if close:
        yield Finding("requests_too_close", f"{counted(close, 'source')} had requests closer "
                      "together than the present policy allows: its delay may have been raised "
                      "since.")  # fmt: skip
