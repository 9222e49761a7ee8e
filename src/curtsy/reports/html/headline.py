"""The beginning of the page: which period, the headline figures with their changes, findings."""

from collections.abc import Sequence

from curtsy.clock import MINUTE
from curtsy.reports.changes import Change, of_count, of_share, of_span
from curtsy.reports.formats import (
    NARROW,
    hours,
    moment,
    number,
    percent,
    period,
    rate,
    size,
    span,
)
from curtsy.reports.html.markup import NOTHING, Html, element, joined, with_code
from curtsy.reports.report import Report, ReportFigures

COVERED_WITHIN = 2 * MINUTE
"""A gap at the beginning that is not worth a sentence."""


def head(report: Report) -> Html:
    made = "by the timetable" if report.trigger == "schedule" else "by hand"
    length = hours(report.minutes)
    before = f" Changes are against the {length} before." if report.before else ""
    return element(
        "header",
        element("h1", "Operations report"),
        element("p", element("b", period(report.since, report.until)), f", {length}",
                class_="period"),
        element("p", f"Made {made} on {moment(report.at)} UTC.{before}", class_="lead"),
        _coverage(report),
    )  # fmt: skip


def _coverage(report: Report) -> Html:
    since = report.covered_since
    if since is None or since - report.since <= COVERED_WITHIN:
        return NOTHING
    return element("p", f"There are figures from {moment(since)} UTC on: before that, nothing was "
                   "recorded.", class_="lead")  # fmt: skip


Row = tuple[str, str, Change | None]
"""A label, a value, and its change."""


def cards(report: Report) -> Html:
    now, before = report.figures, report.before or ReportFigures()
    first: tuple[Row, ...] = (
        ("Pages ended", number(now.ended), of_count(now.ended, before.ended)),
        ("Success rate", percent(now.success_rate), of_share(now.success_rate,
                                                             before.success_rate)),
        ("Pages a minute", rate(now.pages_per_minute),
         of_count(now.pages_per_minute, before.pages_per_minute)),
        ("New dead letters", number(now.new_dead_letters),
         of_count(now.new_dead_letters, before.new_dead_letters, good=-1)),
    )  # fmt: skip
    second: tuple[Row, ...] = (
        (f"50{NARROW}% fetched in", span(now.fetch_p50_ms),
         of_span(now.fetch_p50_ms, before.fetch_p50_ms)),
        (f"95{NARROW}% fetched in", span(now.fetch_p95_ms),
         of_span(now.fetch_p95_ms, before.fetch_p95_ms)),
        (f"99{NARROW}% fetched in", span(now.fetch_p99_ms),
         of_span(now.fetch_p99_ms, before.fetch_p99_ms)),
        ("Retries", number(now.retries), of_count(now.retries, before.retries, good=-1)),
        ("Received", size(now.bytes), of_count(now.bytes, before.bytes)),
    )  # fmt: skip
    known = report.before is not None
    return joined([_cards(first, "cards", known), _cards(second, "cards small", known)])


def _cards(rows: Sequence[Row], style: str, known: bool) -> Html:
    return element("ul", *(_card(label, value, change if known else None)
                           for label, value, change in rows), class_=style)  # fmt: skip


def _card(label: str, value: str, change: Change | None) -> Html:
    parts = [element("span", label, class_="label"), element("span", value, class_="value")]
    if change is not None:
        parts.append(element("span", words_of(change), class_=f"change {change.verdict}"))
    return element("li", *parts)


def words_of(change: Change) -> str:
    """With the verdict as a word, so that no meaning hangs on a colour."""
    judged = change.verdict in ("better", "worse")
    return f"{change.words}, {change.verdict}" if judged else change.words


def findings(report: Report) -> Html:
    heading = element("h2", "What needs attention")
    if not report.findings:
        return joined([heading, element("p", "Nothing does.", class_="calm")])
    lines = (element("li", with_code(finding.sentence)) for finding in report.findings)
    return joined([heading, element("ul", *lines, class_="findings")])
