"""Reads the results of a job: in their order, or as its pages end."""

import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from curtsy.client.http import ApiConnection
from curtsy.client.results import PageResult, result_of
from curtsy.client.retries import Patience
from curtsy.client.statuses import Status

PAGE = 200
"""Results per request."""
LONGEST_SHARE = 0.1
"""Reading results again takes at most this share of the time, however many there are."""
Piece = tuple[list[PageResult], str | None]


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
    """Yields each result of a job once, soon after its page has ended.

    The API lists results in the order of the pages, so the list is read again when pages have
    ended: from the first page that was missing, and never so often that reading takes a large part
    of the time.
    """

    def __init__(self, api: ApiConnection, job: str, patience: Patience) -> None:
        self._api, self._job, self._patience = api, job, patience
        self._seen: Counter[str] = Counter()
        """How many results of each page were yielded."""
        self._start: str | None = None
        """The cursor before which every page has ended."""
        self._known, self._next_at = 0, 0.0

    async def during(self, statuses: AsyncIterator[Status]) -> AsyncGenerator[PageResult]:
        """Yields results while the statuses come; after the last of them, all that are left."""
        async for status in statuses:
            ended = status.completed + status.failed + status.cancelled
            if status.is_over or (ended > self._known and time.monotonic() >= self._next_at):
                self._known = ended
                async with aclosing(self._new()) as results:
                    async for result in results:
                        yield result

    async def _new(self) -> AsyncGenerator[PageResult]:
        began, is_whole = time.monotonic(), True
        found: Counter[str] = Counter()
        pieces = results_in_order(self._api, self._job, self._patience, after=self._start)
        async with aclosing(pieces):
            async for piece, cursor in pieces:
                is_whole = is_whole and cursor is not None and self._is_whole(piece, cursor)
                if is_whole:
                    self._start = cursor
                for result in piece:
                    found[result.article_id] += 1
                    if found[result.article_id] > self._seen[result.article_id]:
                        self._seen[result.article_id] += 1
                        yield result
        now = time.monotonic()
        self._next_at = now + (now - began) / LONGEST_SHARE

    def _is_whole(self, piece: Sequence[PageResult], cursor: str) -> bool:
        """Whether no page is missing between the start and the cursor, which is a position, or a
        position and a record where a page with many was cut."""
        if "-" in cursor:
            return False
        first = int(self._start) + 1 if self._start is not None else 0
        return int(cursor) - first + 1 == len({result.article_id for result in piece})
