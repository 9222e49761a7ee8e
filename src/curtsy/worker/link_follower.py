"""Admits what crawled pages lead to as pages of their crawls. Any worker may do it."""

import random
from collections.abc import Awaitable, Sequence

import orjson

from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.fetch.guard import Network
from curtsy.frontier.admit import Wanted
from curtsy.frontier.crawls.leads import (
    MOST_LEADS,
    Admitted,
    Lead,
    admit_links,
    waiting_leads,
)
from curtsy.frontier.crawls.listed_pages import admit_listed
from curtsy.frontier.crawls.lists import WaitingList, read_document, waiting_lists
from curtsy.frontier.sources import wake_released
from curtsy.jobs.parsed_documents import parsed_documents
from curtsy.logs import logger
from curtsy.offload import MANY_PAGES, offload
from curtsy.scrapers.record_keys import records_on
from curtsy.store import Connection, Store
from curtsy.worker.lead_pages import CrawlTerms, linked_pages, listed_pages

log = logger("worker")

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
        leads, lists = await self._store.read(lambda c: (waiting_leads(c), waiting_lists(c)))
        by_job: dict[int, list[Lead]] = {}
        for lead in leads:
            by_job.setdefault(lead.job_id, []).append(lead)
        done = [await _alone(job_id, self._follow_links(of_job))
                for job_id, of_job in by_job.items()]  # fmt: skip
        done += [await _alone(waiting.job_id, self._follow_list(waiting)) for waiting in lists]
        if all(done) and (len(leads) == MOST_LEADS or lists):
            return 0.0
        return POLL_SECONDS * random.uniform(0.8, 1.2)

    async def _follow_links(self, leads: Sequence[Lead]) -> None:
        stored = orjson.loads(leads[0].scope)
        terms = CrawlTerms.from_json(stored, self._allow)
        job_id, found = leads[0].job_id, {}
        if await self._has_enough(job_id, stored.get("wanted")):
            found = {lead.id: list[Wanted]() for lead in leads}
        else:
            found = await offload(lambda: {lead.id: linked_pages(lead, terms) for lead in leads})
        now = self._clock.now()
        admitted = await self._store.write(
            lambda c: admit_links(c, job_id, found, max_age=stored["max_age"],
                                  delay_ms=self._delay_ms, now=now),
            large=sum(map(len, found.values())) > MANY_PAGES,
        )  # fmt: skip
        await self._wake(admitted)

    async def _follow_list(self, waiting: WaitingList) -> None:
        stored = orjson.loads(waiting.scope)
        terms = CrawlTerms.from_json(stored, self._allow)
        document = await self._store.read(lambda c: read_document(c, waiting))
        listed = await offload(listed_pages, waiting, document, terms)
        now = self._clock.now()
        admitted = await self._store.write(
            lambda c: admit_listed(c, waiting, listed, max_age=stored["max_age"],
                                   delay_ms=self._delay_ms, now=now),
            large=len(listed.entries) > MANY_PAGES,
        )  # fmt: skip
        await self._wake(admitted)

    async def _wake(self, admitted: Admitted) -> None:
        if admitted.bands:
            now = self._clock.now()
            await self._store.write(lambda c: wake_released(c, admitted.bands, now=now))

    async def _has_enough(self, job_id: int, wanted: int | None) -> bool:
        """Whether the pages of a run have as many records as were wanted."""
        if wanted is None:
            return False
        return await self._store.read(lambda c: _has_records(c, job_id, wanted))


async def _alone(job_id: int, work: Awaitable[None]) -> bool:
    """Returns whether the work was done. An error is logged: it concerns the job, whose leads stay,
    and must not hold up the others. Raises if the store is away or full."""
    try:
        await work
    except (StoreAway, StoreFull):
        raise
    except Exception:
        log.exception("links_not_followed", job_id=job_id)
        return False
    return True


def _has_records(connection: Connection, job_id: int, wanted: int) -> bool:
    keys: set[str] = set()
    for document in parsed_documents(connection, job_id):
        if document.page is not None:
            keys.update(key for key, _fields in records_on(document.page, document.url))
        if len(keys) >= wanted:
            return True
    return False
