"""Declared sites: their declarations, runs and records."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Unpack
from urllib.parse import quote

from curtsy.client.answers import (
    DeclaredSite,
    JobList,
    RecordList,
    Run,
    Site,
    SiteGone,
    SiteRecord,
    Sites,
)
from curtsy.client.bodies import SiteBody
from curtsy.client.faces import Face, Resource, call, each
from curtsy.client.request_bodies import as_json


class DeclaredSites(Resource[Face]):
    """Sites by name."""

    @call
    async def list(self) -> tuple[Site, ...]:
        """Returns the sites that can be scraped by name."""
        return (await self._ask_enveloped(Sites, "GET", "/jobs/sites")).sites

    @call
    async def get(self, site: str) -> DeclaredSite:
        """Returns the declaration of a site."""
        return await self._ask(DeclaredSite, "GET", _path(site))

    @call
    async def declare(self, site: str, /, **declaration: Unpack[SiteBody]) -> DeclaredSite:
        """Stores the declaration of a site, in place of an earlier one."""
        return await self._ask(DeclaredSite, "PUT", _path(site), body=as_json(declaration))

    @call
    async def delete(self, site: str) -> SiteGone:
        """Deletes a site with its schedule and records; its runs stay."""
        return await self._ask(SiteGone, "DELETE", _path(site))

    @each
    async def runs(self, site: str) -> AsyncGenerator[Run]:
        """Yields the runs of a site with their records, the newest first."""
        query: dict[str, object] = {"door": "runs", "source": site}
        async with aclosing(self._pages(JobList, "/jobs", query)) as pages:
            async for page in pages:
                for job in page.jobs:
                    yield await self._ask_enveloped(Run, "GET", f"/jobs/scrape/{job['run_id']}")

    @each
    async def records(self, site: str) -> AsyncGenerator[SiteRecord]:
        """Yields all records that its runs found, as they were last seen."""
        async with aclosing(self._pages(RecordList, f"{_path(site)}/records")) as pages:
            async for page in pages:
                for record in page.records:
                    yield record


def _path(site: str) -> str:
    return f"/sites/{quote(site, safe='')}"
