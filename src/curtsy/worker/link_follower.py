"""Admits the links of crawled pages as pages of their crawls. Any worker may do it."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from curtsy.clock import Clock
from curtsy.fetch.guard import Network, refusal_by_name
from curtsy.frontier.admit import Wanted
from curtsy.frontier.crawls import MOST_LEADS, Lead, admit_links, waiting_leads
from curtsy.model.options import options_for
from curtsy.model.scope import Scope
from curtsy.model.urls import BadUrl, canonical, fingerprint
from curtsy.offload import MANY_PAGES, offload
from curtsy.store import Store

POLL_SECONDS = 2.0


class _CrawlRequest(NamedTuple):
    """How the pages of the crawl are fetched and scraped."""

    headers: tuple[tuple[str, str], ...]
    params: Mapping[str, Any]
    ways: Sequence[str]


class LinkFollower:
    """A periodic step. It polls, and runs early when a flush stored links."""

    def __init__(
        self, *, store: Store, clock: Clock, delay_ms: int, allow: tuple[Network, ...]
    ) -> None:
        self._store, self._clock, self._delay_ms, self._allow = store, clock, delay_ms, allow

    async def step(self) -> float:
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
        found = await offload(self._pages_in_scope, leads, terms)
        now = self._clock.now()
        await self._store.write(
            lambda c: admit_links(c, job_id, found, max_age=terms["max_age"],
                                  delay_ms=self._delay_ms, now=now),
            large=sum(map(len, found.values())) > MANY_PAGES,
        )  # fmt: skip

    def _pages_in_scope(
        self, leads: Sequence[Lead], terms: Mapping[str, Any]
    ) -> dict[int, list[Wanted]]:
        """Returns the pages of each lead within the crawl's scope. Slow: runs in a thread."""
        scope = Scope.from_json(terms["scope"])
        headers = tuple((name, value) for name, value in terms["headers"])
        crawl_request = _CrawlRequest(headers, terms.get("params", {}), terms.get("ways", ()))
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
        options = options_for(url.host, **crawl_request._asdict())
        return Wanted(
            0, fingerprint(url.text, lead.scraper, options or ""), url.text, url.host,
            lead.scraper, lead.priority, options=options, depth=lead.depth,
            links=lead.depth < lead.deepest,
        )  # fmt: skip
