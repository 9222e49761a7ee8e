"""The sections about pages: volume, latency, waits, sources, failures, dead letters."""

from curtsy.reports.changes import of_span
from curtsy.reports.formats import NONE, moment, number, percent, span
from curtsy.reports.html.bars import Part, small_bar, stacked_bar, swatch
from curtsy.reports.html.charts import bounded, latency_chart, volume_chart
from curtsy.reports.html.markup import NOTHING, Html, element, html, joined, named, with_code
from curtsy.reports.html.tables import Column, table
from curtsy.reports.report import Report, SourceLine

FIGURES_SHOWN = 24
NUMBER, ASIDE, BARS, WORDS = "number", "number aside", "bars", "words"


def section(title: str, *parts: str) -> Html:
    return element("section", element("h2", title), *parts)


def volume(report: Report) -> Html:
    if not report.figures.attempts and not report.figures.ended:
        return section("Pages", element("p", "Nothing was fetched.", class_="calm"))
    legend = _legend(("good", "succeeded"), ("bad", "failed"))
    return section("Pages", element("figure", legend, volume_chart(report)), _figures(report))


def latency(report: Report) -> Html:
    if report.figures.fetch_p50_ms is None:
        return NOTHING
    legend = _legend(("p50", "median"), ("p95", "95th percentile (dashed)"))
    return section("How long requests took", element("figure", legend, latency_chart(report)))


def _legend(*entries: tuple[str, str]) -> Html:
    return element("ul", *(element("li", swatch(style), word) for style, word in entries),
                   class_="legend")  # fmt: skip


def _figures(report: Report) -> Html:
    """The charts as a table, for those who cannot see them."""
    points = bounded(report.series, FIGURES_SHOWN)
    columns = (Column("from (UTC)"), Column("succeeded", NUMBER), Column("failed", NUMBER),
               Column("median", NUMBER), Column("95th percentile", NUMBER))  # fmt: skip
    rows = [(moment(p.at), number(p.succeeded), number(p.failed), span(p.fetch_p50_ms),
             span(p.fetch_p95_ms)) for p in points]  # fmt: skip
    return element("details", element("summary", "The charts as a table"),
                   table("Pages that ended, and how long requests took", columns,
                         rows))  # fmt: skip


def waits(report: Report) -> Html:
    found = report.waits
    if not found.whole:
        return NOTHING
    parts = (Part("no free worker", "capacity", found.capacity_ms),
             Part("delay the site asks for", "politeness", found.politeness_ms),
             Part("closed hours", "closed", found.closed_ms),
             Part("rest after failures", "backoff", found.backoff_ms))  # fmt: skip
    said = ("The sum over all pages. Only the first part is a backlog that more workers would "
            "shorten; the others are deliberate.")  # fmt: skip
    return section("What pages waited for", element("p", said, class_="note"),
                   stacked_bar("What pages waited for", parts))  # fmt: skip


def slowest(report: Report) -> Html:
    if not report.slowest:
        return NOTHING
    most = max(line.fetch_p95_ms or 0 for line in report.slowest)
    columns = (Column("source"), Column("95th percentile", NUMBER), Column("", BARS),
               Column("median", ASIDE), Column("change", NUMBER),
               Column("pages", ASIDE))  # fmt: skip
    rows = [
        (named(line.source), span(line.fetch_p95_ms),
         small_bar(line.fetch_p95_ms or 0, most, "slow"), span(line.fetch_p50_ms),
         _slower(line), number(line.ended))
        for line in report.slowest
    ]  # fmt: skip
    return section("Slowest sources", table("By the 95th percentile of their requests", columns,
                                            rows))  # fmt: skip


def _slower(line: SourceLine) -> Html:
    change = of_span(line.fetch_p95_ms, line.fetch_p95_ms_before)
    return element("span", change.words, class_=change.verdict) if change else html(NONE)


def failing(report: Report) -> Html:
    if not report.failing:
        return NOTHING
    most = max(line.failed for line in report.failing)
    columns = (Column("source"), Column("failed", NUMBER), Column("", BARS),
               Column("of its pages", NUMBER), Column("before", ASIDE),
               Column("mostly"))  # fmt: skip
    rows = [
        (named(line.source), number(line.failed), small_bar(line.failed, most, "bad"),
         percent(line.failed / line.ended if line.ended else None),
         NONE if line.failed_before is None else number(line.failed_before),
         line.worst_kind or NONE)
        for line in report.failing
    ]  # fmt: skip
    return section("Failing sources", table("By pages that were given up", columns, rows))


def failures(report: Report) -> Html:
    if not report.failures:
        return NOTHING
    columns = (Column("kind"), Column("attempts", NUMBER), Column("before", ASIDE),
               Column("it means that", WORDS), Column("what to do", WORDS))  # fmt: skip
    known = report.before is not None
    rows = [(line.kind, number(line.number), number(line.before) if known else NONE, line.means,
             with_code(line.remedy))
            for line in report.failures]  # fmt: skip
    return section("Failures by kind", table("Failed attempts, retried ones included", columns,
                                             rows))  # fmt: skip


def letters(report: Report) -> Html:
    title = "Dead letters"
    if not report.letters:
        return section(title, element("p", "None is open."))
    most = max(line.open for line in report.letters)
    columns = (Column("cause"), Column("open", NUMBER), Column("", BARS), Column("new", NUMBER),
               Column("it means that", WORDS))  # fmt: skip
    rows = [(line.kind, f"{number(line.open)}{'+' * line.capped}",
             small_bar(line.open, most, "bad"), number(line.new), line.means)
            for line in report.letters]  # fmt: skip
    advice = element("p", element("code", "curtsy dead-letters"), " lists them with their pages; ",
                     element("code", "curtsy process-dlq"), " retries those whose source works "
                     "again.", class_="note")  # fmt: skip
    return section(title, table("Open, by cause", columns, rows), advice)


def sections(report: Report) -> Html:
    return joined(part(report) for part in
                  (volume, latency, waits, failing, slowest, failures, letters))  # fmt: skip
