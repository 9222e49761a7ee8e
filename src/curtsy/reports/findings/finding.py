"""One thing that is wrong, or may be."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    PROBLEM = "problem"
    """Work stands still or is in danger: somebody must act."""
    WARNING = "warning"
    """Somebody should look at it: work goes on."""
    NOTICE = "notice"
    """It mends itself."""


class Finding(NamedTuple):
    severity: Severity
    code: str
    """For programs: stable."""
    sentence: str
    remedy: str
    """What to do, as the end of a sentence; a command where there is one."""

    @property
    def text(self) -> str:
        return f"{self.sentence.removesuffix('.')}: {self.remedy}"


DISK_FULL = Finding(
    Severity.PROBLEM, "disk_full", "The database's disk is full: nothing can be stored.",
    "free some space, and the work goes on. What was acknowledged is kept.",
)  # fmt: skip


def sorted_by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """The worst first, else in their order."""
    order = list(Severity)
    return sorted(findings, key=lambda finding: order.index(finding.severity))


def texts(findings: Iterable[Finding], severity: Severity) -> list[str]:
    return [finding.text for finding in findings if finding.severity is severity]
