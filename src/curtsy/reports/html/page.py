"""The report as one HTML page that needs no script and loads nothing."""

from curtsy.reports.formats import period
from curtsy.reports.html import page_sections, system_sections
from curtsy.reports.html.headline import cards, findings, head
from curtsy.reports.html.markup import Html, element, joined
from curtsy.reports.html.style import CONTENT_POLICY, STYLE
from curtsy.reports.report import Report


def page(report: Report) -> str:
    title = f"Operations report, {period(report.since, report.until)}"
    meta = [
        element("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="robots", content="noindex"),
        element("title", title),
        Html(f"<style>{STYLE}</style>"),
    ]
    body = [head(report), element("main", cards(report), findings(report),
                                  page_sections.sections(report),
                                  system_sections.sections(report)), _foot(report)]  # fmt: skip
    whole = element("html", element("head", *meta), element("body", *body), lang="en")
    return str(joined([Html("<!doctype html>\n"), whole]))


def _foot(report: Report) -> Html:
    said = (f"Report {report.id}, by curtsy {report.version}. Times are UTC. Percentiles come from "
            "histograms with fixed buckets, so they are approximate.")  # fmt: skip
    return element("footer", element("p", said))
