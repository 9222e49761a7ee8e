"""Admits the links of crawled pages as pages of their crawls. Any worker may do it."""

import random
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import orjson

from curtsy.clock import Clock
from curtsy.fetch.guard import Network, refusal_by_name
from curtsy.frontier.admit import Wanted
from curtsy.frontier.crawls import MOST_LEADS, Lead, admit_links, waiting_leads
from curtsy.jobs.parsed_documents import parsed_documents
from curtsy.model.options import options_for
from curtsy.model.origins import origin_of, reach_of
from curtsy.model.scope import Scope
from curtsy.model.urls import BadUrl, Url, canonical, fingerprint
from curtsy.offload import MANY_PAGES, offload
from curtsy.scrapers.record_keys import records_on
from curtsy.store import Connection, Store

POLL_SECONDS = 2.0


class _CrawlRequest(NamedTuple):
    """How the pages of the crawl are fetched and scraped."""

    headers: tuple[tuple[str, str], ...]
    origins: Collection[str]
    """Where the headers may go."""
    params: Mapping[str, Any]
    ways: Sequence[str]

    def options(self, url: Url) -> str | None:
        headers = self.headers if origin_of(url.text) in self.origins else ()
        return options_for(url.host, headers=headers, params=self.params, ways=self.ways)


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
        by_job: dict[int, list[Any]] = {}
        for lead in leads:
            by_job.setdefault(lead.job_id, []).append(lead)
        for job_id, of_job in by_job.items():
            await self._follow(job_id, of_job)
        if len(leads) == MOST_LEADS:
            return 0.0
        return POLL_SECONDS * random.uniform(0.8, 1.2)

    async def _follow(self, job_id: int, leads: Sequence[Lead]) -> None:
        terms = orjson.loads(leads[0].scope)
        if await self._has_enough(job_id, terms.get("wanted")):
            found: dict[int, list[Wanted]] = {lead.id: [] for lead in leads}
        else:
            found = await offload(self._pages_in_scope, leads, terms)
        now = self._clock.now()
        await self._store.write(
            lambda c: admit_links(c, job_id, found, max_age=terms["max_age"],
                                  delay_ms=self._delay_ms, now=now),
            large=sum(map(len, found.values())) > MANY_PAGES,
        )  # fmt: skip

    async def _has_enough(self, job_id: int, wanted: int | None) -> bool:
        """Whether the pages of a run have as many records as were wanted."""
        if wanted is None:
            return False
        return await self._store.read(lambda c: _has_records(c, job_id, wanted))

    def _pages_in_scope(
        self, leads: Sequence[Lead], terms: Mapping[str, Any]
    ) -> dict[int, list[Wanted]]:
        """Returns the pages of each lead within the crawl's scope. Slow: runs in a thread."""
        scope = Scope.from_json(terms["scope"])
        headers = tuple((name, value) for name, value in terms["headers"])
        # The origins of the start pages; crawls of older versions did not store them.
        origins = chain.from_iterable(map(reach_of, terms.get("origins", ())))
        crawl_request = _CrawlRequest(headers, frozenset(origins), terms.get("params", {}),
                                      terms.get("ways", ()))  # fmt: skip
        found = {}
        for lead in leads:
            pages = (self._page(url, lead, scope, crawl_request) for url in orjson.loads(lead.urls))
            found[lead.id] = [page for page in pages if page is not None]
        return found

    def _page(
        self, link: str, lead: Any, scope: Scope, crawl_request: _CrawlRequest
    ) -> Wanted | None:
        try:
            url = canonical(link)
        except BadUrl:
            return None
        if not scope.holds(url.text, url.host) or refusal_by_name(url.host, self._allow):
            return None
        options = crawl_request.options(url)
        return Wanted(
            0, fingerprint(url.text, lead.scraper, options or ""), url.text, url.host,
            lead.scraper, lead.priority, options=options, depth=lead.depth,
            links=lead.depth < lead.deepest,
        )  # fmt: skip


def _has_records(connection: Connection, job_id: int, wanted: int) -> bool:
    keys: set[str] = set()
    for document in parsed_documents(connection, job_id):
        if document.page is not None:
            keys.update(key for key, _fields in records_on(document.page, document.url))
        if len(keys) >= wanted:
            return True
    return False
