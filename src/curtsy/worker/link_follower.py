"""Admits what crawled pages lead to as pages of their crawls. Any worker may do it."""

import random
from collections.abc import Sequence
from typing import Any

import orjson

from curtsy.clock import Clock
from curtsy.fetch.guard import Network
from curtsy.frontier.admit import Wanted
from curtsy.frontier.crawls.leads import MOST_LEADS, Lead, admit_links, waiting_leads
from curtsy.frontier.crawls.listed_pages import admit_listed, read_list
from curtsy.jobs.parsed_documents import parsed_documents
from curtsy.offload import MANY_PAGES, offload
from curtsy.scrapers.record_keys import records_on
from curtsy.store import Connection, Store
from curtsy.worker.lead_pages import CrawlTerms, linked_pages, listed_pages

POLL_SECONDS = 2.0


class LinkFollower:
    """A periodic step. It polls, and runs early when a flush stored links."""

    def __init__(
        self, *, store: Store, clock: Clock, delay_ms: int, allow: tuple[Network, ...]
    ) -> None:
        self._store, self._clock, self._delay_ms, self._allow = store, clock, delay_ms, allow

    async def step(self) -> float:
        if not await self._store.has_room():
            return POLL_SECONDS  # the links wait, and their crawl with them
        leads = await self._store.read(waiting_leads)
        by_job: dict[int, list[Lead]] = {}
        for lead in leads:
            by_job.setdefault(lead.job_id, []).append(lead)
        for of_job in by_job.values():
            await self._follow(of_job)
        if len(leads) == MOST_LEADS or any(lead.page_id is not None for lead in leads):
            return 0.0
        return POLL_SECONDS * random.uniform(0.8, 1.2)

    async def _follow(self, leads: Sequence[Lead]) -> None:
        stored = orjson.loads(leads[0].scope)
        terms = CrawlTerms.from_json(stored, self._allow)
        if linked := [lead for lead in leads if lead.page_id is None]:
            await self._follow_links(linked, terms, stored)
        for lead in leads:
            if lead.page_id is not None:
                await self._follow_list(lead, terms, max_age=stored["max_age"])

    async def _follow_links(
        self, leads: Sequence[Lead], terms: CrawlTerms, stored: dict[str, Any]
    ) -> None:
        job_id, found = leads[0].job_id, {}
        if await self._has_enough(job_id, stored.get("wanted")):
            found = {lead.id: list[Wanted]() for lead in leads}
        else:
            found = await offload(lambda: {lead.id: linked_pages(lead, terms) for lead in leads})
        now = self._clock.now()
        await self._store.write(
            lambda c: admit_links(c, job_id, found, max_age=stored["max_age"],
                                  delay_ms=self._delay_ms, now=now),
            large=sum(map(len, found.values())) > MANY_PAGES,
        )  # fmt: skip

    async def _follow_list(self, lead: Lead, terms: CrawlTerms, *, max_age: int) -> None:
        document = await self._store.read(lambda c: read_list(c, lead))
        listed = await offload(listed_pages, lead, document, terms)
        now = self._clock.now()
        await self._store.write(
            lambda c: admit_listed(c, lead, listed, max_age=max_age, delay_ms=self._delay_ms,
                                   now=now),
            large=len(listed.entries) > MANY_PAGES,
        )  # fmt: skip

    async def _has_enough(self, job_id: int, wanted: int | None) -> bool:
        """Whether the pages of a run have as many records as were wanted."""
        if wanted is None:
            return False
        return await self._store.read(lambda c: _has_records(c, job_id, wanted))


def _has_records(connection: Connection, job_id: int, wanted: int) -> bool:
    keys: set[str] = set()
    for document in parsed_documents(connection, job_id):
        if document.page is not None:
            keys.update(key for key, _fields in records_on(document.page, document.url))
        if len(keys) >= wanted:
            return True
    return False
