"""Findings about sources that fail."""

from collections.abc import Iterable, Iterator

from curtsy.clock import HOUR, MINUTE, rfc3339
from curtsy.model.counts import counted
from curtsy.reports.failing_sources import FailingSource
from curtsy.reports.findings.finding import Finding, Severity
from curtsy.reports.resting_logins import RestingLogin

LASTING = 10 * MINUTE
"""A shorter failure is what retries are for."""


def of_sources(failing: Iterable[FailingSource], *, now: int) -> Iterator[Finding]:
    for source in failing:
        look = f"`curtsy sources show {source.name}` shows its state"
        if source.crash_streak:
            yield Finding(
                Severity.WARNING, "source_crashes",
                f"{counted(source.crash_streak, 'worker')} died in a row while visiting "
                f"{source.name}.",
                f"{look}; the page that was open is tried alone.",
            )  # fmt: skip
        if source.failing_since is not None and now - source.failing_since >= LASTING:
            kind = f" ({source.kind})" if source.kind else ""
            yield Finding(
                Severity.WARNING, "source_failing",
                f"{source.name} has failed for {_span(now - source.failing_since)}{kind}.",
                f"{look}, and `curtsy dead-letters` what was given up.",
            )  # fmt: skip


def of_logins(resting: Iterable[RestingLogin]) -> Iterator[Finding]:
    for login in resting:
        yield Finding(
            Severity.WARNING, "login_failed",
            f"The login of {login.source} rests until {rfc3339(login.until)}. {login.why}",
            f"check the login of {login.source} and its secrets; any change of its policy ends "
            "the rest.",
        )  # fmt: skip


def _span(ms: int) -> str:
    return f"{ms // MINUTE} minutes" if ms < 2 * HOUR else f"{ms // HOUR} hours"
