"""One visit, from its URL to its outcome: robots.txt, fetch, classify, scrape. No rows here."""

import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from curtsy.extract import Pool
from curtsy.fetch import Fetcher, Request, TrustEnded, cookies
from curtsy.frontier.results import Document
from curtsy.frontier.take import Visit
from curtsy.model.kinds import Kind
from curtsy.model.options import headers_for
from curtsy.model.outcome import Failed, Fetched, Moved, Outcome, Record, Reply
from curtsy.politeness.classify import classify
from curtsy.politeness.robots import Robots
from curtsy.scrapers import NAMES, SIMPLE
from curtsy.worker.documents import document_of
from curtsy.worker.robots import RobotsFiles, path_of


class Done(NamedTuple):
    outcome: Outcome
    document: Document | None = None
    links: tuple[str, ...] | None = None
    lines: tuple[tuple[str, str], ...] = ()


_FREE = Robots()


class Pipeline:
    def __init__(
        self, *, robots: RobotsFiles | None, fetcher: Fetcher, pool: Pool,
        now: Callable[[], int], max_redirects: int,
    ) -> None:  # fmt: skip
        self._robots, self._fetcher, self._pool = robots, fetcher, pool
        self.obeys_robots = robots is not None
        self._now, self._max_redirects = now, max_redirects

    def robots(self, visit: Visit) -> Robots | None:
        """The rules for this visit, as far as they are at hand; None: nobody looked yet."""
        return self._robots.known(visit.url) if self._robots is not None else _FREE

    async def run(self, visit: Visit, may_start: Callable[[], bool]) -> Done | None:
        """What the visit came to; None when robots.txt had to be asked for, and the page is next.

        Raises only `TrustEnded`: then nothing was sent.
        """
        try:
            return await self._run(visit, may_start)
        except TrustEnded:
            raise
        except Exception as error:
            sentence = f"An error of our own: {error!r}"
            return Done(Failed(Kind.INTERNAL, sentence, traceback=traceback.format_exc()))

    async def _run(self, visit: Visit, may_start: Callable[[], bool]) -> Done | None:
        if self._robots is not None and self._robots.known(visit.url) is None:
            robots = await self._robots.recalled(visit.url)
            if robots is None:
                failed = await self._robots.ask(visit.url, may_start)
                return Done(failed) if failed is not None else None
            if (denied := denial(robots, visit)) is not None:
                return Done(denied)
        request = _request(visit)
        reply = await self._fetcher.fetch(request, may_start)
        if isinstance(reply, Failed):
            return Done(reply)
        conditional = bool(request.etag or request.last_modified)
        verdict = classify(reply, self._now(), conditional=conditional)
        if isinstance(verdict, Moved):
            return Done(self._onward(visit, reply, verdict))
        if verdict is not None:
            return Done(verdict)
        record = await self._scraped(visit, reply)
        if isinstance(record, Failed):
            return Done(record)
        fetched = Fetched(
            status=reply.status,
            url=reply.url,
            etag=reply.headers.get("etag"),
            last_modified=reply.headers.get("last-modified"),
            wire_bytes=reply.wire_bytes,
            memory=record.memory,
        )
        return Done(fetched, await document_of(record), record.links, record.lines)

    def _onward(self, visit: Visit, reply: Reply, moved: Moved) -> Moved | Failed:
        if visit.hops >= self._max_redirects:
            sentence = f"More than {self._max_redirects} redirects."
            return Failed(Kind.REDIRECT_LOOP, sentence, moved.status)
        if visit.progress is None and "set-cookie" not in reply.headers:
            return moved
        jar = cookies.after(cookies.carried(visit.progress), reply, self._now())
        return replace(moved, progress=cookies.to_carry(jar))

    async def _scraped(self, visit: Visit, reply: Reply) -> Record | Failed:
        scraper = visit.scraper
        if (simple := SIMPLE.get(scraper)) is not None and not visit.links:
            return simple(reply)
        if scraper in NAMES:
            return await self._pool.extract(scraper, reply, links=visit.links)
        return Failed(Kind.NOT_SUPPORTED, f"This worker has no scraper named {scraper}.")


def denial(robots: Robots, visit: Visit) -> Failed | None:
    if robots.allows(path_of(visit.url)):
        return None
    return Failed(Kind.ROBOTS_DENIED, "The host's robots.txt does not allow this page.")


def _request(visit: Visit) -> Request:
    shown = cookies.header(cookies.carried(visit.progress), visit.url) if visit.progress else None
    headers = headers_for(visit.options, visit.url) + ((("Cookie", shown),) if shown else ())
    if visit.links:  # where it leads is known from the whole page only
        return Request(visit.url, headers)
    return Request(visit.url, headers, visit.etag, visit.last_modified)
