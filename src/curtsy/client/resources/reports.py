"""Reports on what happened in a period."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from urllib.parse import quote

from curtsy.client.answers import ListedReport, Report, ReportList
from curtsy.client.faces import Face, Resource, call, each

AS_JSON: dict[str, object] = {"format": "json"}


class Reports(Resource[Face]):
    """Reports by id."""

    @each
    async def list(self) -> AsyncGenerator[ListedReport]:
        """Yields the stored reports, the newest first."""
        async with aclosing(self._pages(ReportList, "/reports")) as pages:
            async for page in pages:
                for report in page.reports:
                    yield report

    @call
    async def latest(self) -> Report:
        return await self._ask(Report, "GET", "/reports/latest", query=AS_JSON)

    @call
    async def get(self, report: str) -> Report:
        return await self._ask(Report, "GET", f"/reports/{quote(report, safe='')}", query=AS_JSON)

    @call
    async def create(self, *, hours: int | None = None) -> Report:
        """Makes a report on the last hours now, and stores it."""
        query: dict[str, object] = {"hours": hours}
        return await self._ask(Report, "POST", "/reports", query=query)
