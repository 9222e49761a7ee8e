"""One visit, from its URL to its outcome: fetch, classify, scrape. No rows, no log lines here."""

import traceback
from collections.abc import Callable

from curtsy.extract import Pool
from curtsy.fetch import Fetcher, Request, TrustEnded
from curtsy.frontier.results import Document
from curtsy.frontier.take import Visit
from curtsy.model.kinds import Kind
from curtsy.model.outcome import Failed, Fetched, Moved, Outcome, Record, Reply
from curtsy.politeness.classify import classify
from curtsy.scrapers import PARSING, SIMPLE
from curtsy.worker.documents import document_of


class Pipeline:
    def __init__(
        self, *, fetcher: Fetcher, pool: Pool, now: Callable[[], int], max_redirects: int
    ) -> None:
        self._fetcher, self._pool = fetcher, pool
        self._now, self._max_redirects = now, max_redirects

    async def run(
        self, visit: Visit, may_start: Callable[[], bool]
    ) -> tuple[Outcome, Document | None]:
        """What the visit came to. Raises only `TrustEnded`: then nothing was sent."""
        try:
            return await self._run(visit, may_start)
        except TrustEnded:
            raise
        except Exception as error:
            sentence = f"An error of our own: {error!r}"
            return Failed(Kind.INTERNAL, sentence, traceback=traceback.format_exc()), None

    async def _run(
        self, visit: Visit, may_start: Callable[[], bool]
    ) -> tuple[Outcome, Document | None]:
        request = Request(visit.url, etag=visit.etag, last_modified=visit.last_modified)
        reply = await self._fetcher.fetch(request, may_start)
        if isinstance(reply, Failed):
            return reply, None
        conditional = bool(request.etag or request.last_modified)
        verdict = classify(reply, self._now(), conditional=conditional)
        if isinstance(verdict, Moved) and visit.hops >= self._max_redirects:
            sentence = f"More than {self._max_redirects} redirects."
            return Failed(Kind.REDIRECT_LOOP, sentence, verdict.status), None
        if verdict is not None:
            return verdict, None
        record = await self._scraped(visit.scraper, reply)
        if isinstance(record, Failed):
            return record, None
        fetched = Fetched(
            status=reply.status,
            url=reply.url,
            etag=reply.headers.get("etag"),
            last_modified=reply.headers.get("last-modified"),
            wire_bytes=reply.wire_bytes,
        )
        return fetched, await document_of(record)

    async def _scraped(self, scraper: str, reply: Reply) -> Record | Failed:
        if (simple := SIMPLE.get(scraper)) is not None:
            return simple(reply)
        if scraper in PARSING:
            return await self._pool.extract(scraper, reply)
        return Failed(Kind.NOT_SUPPORTED, f"This worker has no scraper named {scraper}.")
