"""Reads the results of a job: in their order, or as its pages end."""

import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import aclosing

from curtsy.client.http import ApiConnection
from curtsy.client.results import PageFailure, PageResult, result_of
from curtsy.client.retries import Patience
from curtsy.client.statuses import Status

PAGE = 200
"""Results per request."""
LONGEST_SHARE = 0.1
"""Reading results again takes at most this share of the time, however many there are."""
Piece = tuple[list[PageResult], str | None]
Seen = tuple[str, bool]
"""A page, and whether a result of it is a failure."""
Counts = tuple[int, int, int]
"""How many pages are completed, failed and cancelled."""


async def results_in_order(
    api: ApiConnection, job: str, patience: Patience, *, after: str | None = None
) -> AsyncGenerator[Piece]:
    """Yields the results so far, a piece of them at a time, each with the cursor behind it."""
    cursor = after
    while True:
        query: dict[str, object] = {"limit": PAGE, "cursor": cursor}
        page = await patience.call(
            lambda: api.request("GET", f"/jobs/{job}/results", query=query)  # noqa: B023
        )
        cursor = page.get("next_cursor")
        yield [result_of(row) for row in page["results"] + page["failed_articles"]], cursor
        if cursor is None:
            return


class ResultStream:
    """Yields each result of a job once, soon after its page has ended; of a failure that is retried
    meanwhile also what became of it.

    The numbers of the job's events say where to go on. Pages from the store have no event: where
    the job's counts show that results are missing, the list of all results is read too: from the
    first page that may change, and never so often that reading takes a large part of the time.
    """

    def __init__(self, api: ApiConnection, job: str, patience: Patience) -> None:
        self._api, self._job, self._patience = api, job, patience
        self._seen: Counter[Seen] = Counter()
        """How many results, or failures, of each page were yielded."""
        self._done, self._failed = set[str](), set[str]()
        """Pages that were yielded, by how they ended last."""
        self._event = 0
        """The last event of the job whose page was read."""
        self._start: str | None = None
        """The cursor before which every page has ended for good."""
        self._known: Counts | None = None
        """The job's counts when events were last read."""
        self._listed: Counts | None = None
        """Those when the list was last read."""
        self._next_at = 0.0

    async def during(self, statuses: AsyncIterator[Status]) -> AsyncGenerator[PageResult]:
        """Yields results while the statuses come; after the last of them, all that are left."""
        async for status in statuses:
            counts = (status.completed, status.failed, status.cancelled)
            if counts != self._known or status.is_over:
                async with aclosing(self._ended_since()) as results:
                    async for result in results:
                        yield result
            self._known = counts
            if self._lacks(counts) and (status.is_over or self._may_list(counts)):
                self._listed = counts
                async with aclosing(self._in_order()) as results:
                    async for result in results:
                        yield result

    def _lacks(self, counts: Counts) -> bool:
        """Whether the job has results that were not yielded, or pages without a record."""
        return counts != (len(self._done), len(self._failed), 0)

    def _may_list(self, counts: Counts) -> bool:
        return counts != self._listed and time.monotonic() >= self._next_at

    async def _ended_since(self) -> AsyncGenerator[PageResult]:
        """Yields the results of pages that ended after the last event that was read."""
        path = f"/jobs/{self._job}/results"
        while True:
            query: dict[str, object] = {"after_event": self._event, "limit": PAGE}
            page = await self._patience.call(
                lambda: self._api.request("GET", path, query=query)  # noqa: B023
            )
            rows = page["results"] + page["failed_articles"]
            for result in self._new([result_of(row) for row in rows], Counter()):
                yield result
            last = page.get("last_event", self._event)  # an older server has none
            if last == self._event:
                return
            self._event = last

    async def _in_order(self) -> AsyncGenerator[PageResult]:
        began, is_final = time.monotonic(), True
        found: Counter[Seen] = Counter()
        pieces = results_in_order(self._api, self._job, self._patience, after=self._start)
        async with aclosing(pieces):
            async for piece, cursor in pieces:
                is_final = is_final and cursor is not None and self._is_final(piece, cursor)
                if is_final:
                    self._start = cursor
                for result in self._new(piece, found):
                    yield result
        now = time.monotonic()
        self._next_at = now + (now - began) / LONGEST_SHARE

    def _new(self, results: Sequence[PageResult], found: Counter[Seen]) -> Generator[PageResult]:
        """The results that were not yielded yet; counts in `found` those of this reading."""
        for result in results:
            page, is_failure = result.article_id, isinstance(result, PageFailure)
            found[page, is_failure] += 1
            if found[page, is_failure] <= self._seen[page, is_failure]:
                continue
            self._seen[page, is_failure] += 1
            if not is_failure:
                self._done.add(page)
                self._failed.discard(page)
            elif page not in self._done:
                self._failed.add(page)
            yield result

    def _is_final(self, piece: Sequence[PageResult], cursor: str) -> bool:
        """Whether no page is missing between the start and the cursor, and none may be retried. A
        cursor is a position, or a position and a record where a page with many was cut."""
        if "-" in cursor or any(isinstance(result, PageFailure) for result in piece):
            return False
        first = int(self._start) + 1 if self._start is not None else 0
        return int(cursor) - first + 1 == len({result.article_id for result in piece})
