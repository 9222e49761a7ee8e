"""Findings about the share of pages that succeed."""

from collections.abc import Iterator

from curtsy.history.totals import Totals
from curtsy.model.counts import counted
from curtsy.reports.findings.finding import Finding, Severity

LEAST_RATE = 0.8
LEAST_PAGES = 20
"""Fewer pages prove nothing."""


def of_success(happened: Totals) -> Iterator[Finding]:
    rate, ended = happened.success_rate, happened.succeeded + happened.failed
    if rate is not None and ended >= LEAST_PAGES and rate < LEAST_RATE:
        kinds = sorted(happened.failed_kinds, key=lambda kind: -happened.failed_kinds[kind])
        most = f", most of them as {kinds[0]}" if kinds else ""
        yield Finding(
            Severity.WARNING, "success_rate",
            f"Only {rate:.0%} of {counted(ended, 'page')} succeeded: {happened.failed} "
            f"{'was' if happened.failed == 1 else 'were'} given up{most}.",
            "`curtsy dead-letters` shows them by cause.",
        )  # fmt: skip
