"""Lists of reports. A report itself has one form everywhere: `curtsy.reports.report`."""

from typing import Literal

from pydantic import BaseModel

from curtsy.clock import rfc3339
from curtsy.reports.report import Trigger
from curtsy.reports.stored_reports import StoredReport

Format = Literal["json", "html"]


class ReportRow(BaseModel):
    id: str
    trigger: Trigger
    """`schedule`: the maintenance task `reports` made it; `manual`: a request did."""
    at: str
    since: str
    until: str
    ended: int
    """Pages that ended, well or not."""
    failed: int
    success_rate: float | None
    """Null: no page ended."""


class ReportList(BaseModel):
    reports: list[ReportRow]
    limit: int
    next_cursor: str | None = None


def row_of(row: StoredReport) -> ReportRow:
    return ReportRow(
        id=row.public_id, trigger=row.trigger, at=rfc3339(row.created_at),
        since=rfc3339(row.since_at), until=rfc3339(row.until_at), ended=row.ended,
        failed=row.failed,
        success_rate=(row.ended - row.failed) / row.ended if row.ended else None,
    )  # fmt: skip
