"""One visit, from its URL to its outcome: fetch, classify, scrape. No rows, no log lines here."""

import traceback
from collections.abc import Callable
from contextvars import ContextVar

from curtsy.fetch import Fetcher, Request, TrustEnded
from curtsy.frontier.take import Visit
from curtsy.model.kinds import Kind
from curtsy.model.outcome import Failed, Fetched, Moved, Outcome
from curtsy.politeness.classify import classify
from curtsy.scrapers import SCRAPERS


_may_start: ContextVar[Callable[[], bool]] = ContextVar("may_start")


def may_start() -> bool:
    """For the fetcher: may the request of this task leave now?"""
    return _may_start.get()()


class Pipeline:
    def __init__(self, *, fetcher: Fetcher, now: Callable[[], int], max_redirects: int) -> None:
        self._fetcher, self._now, self._max_redirects = fetcher, now, max_redirects

    async def run(self, visit: Visit, may_start: Callable[[], bool]) -> Outcome:
        """What the visit came to. Raises only `TrustEnded`: then nothing was sent."""
        try:
            return await self._run(visit, may_start)
        except TrustEnded:
            raise
        except Exception as error:
            return Failed(
                Kind.INTERNAL, f"An error of our own: {error!r}", traceback=traceback.format_exc()
            )

    async def _run(self, visit: Visit, may_start: Callable[[], bool]) -> Outcome:
        request = Request(visit.url, etag=visit.etag, last_modified=visit.last_modified)
        _may_start.set(may_start)
        reply = await self._fetcher.fetch(request)
        if isinstance(reply, Failed):
            return reply
        verdict = classify(reply, self._now())
        if isinstance(verdict, Moved) and visit.hops >= self._max_redirects:
            return Failed(
                Kind.REDIRECT_LOOP, f"More than {self._max_redirects} redirects.", verdict.status
            )
        if verdict is not None:
            return verdict
        record = SCRAPERS[visit.scraper](reply)
        if isinstance(record, Failed):
            return record
        return Fetched(
            record=record,
            status=reply.status,
            url=reply.url,
            etag=reply.headers.get("etag"),
            last_modified=reply.headers.get("last-modified"),
            wire_bytes=reply.wire_bytes,
        )
