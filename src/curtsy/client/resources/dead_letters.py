"""Dead letters: pages that were given up."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal, Unpack

from curtsy.client.answers import (
    DeadLetter,
    DeadLetterGroup,
    DeadLetterList,
    DeadLetterStory,
    SettledLetters,
)
from curtsy.client.bodies import WhichLetters
from curtsy.client.faces import Face, Resource, call, each
from curtsy.client.request_bodies import as_json

State = Literal["open", "retried", "resolved"]


class DeadLetters(Resource[Face]):
    """Dead letters by number."""

    @each
    async def list(
        self, *, state: State | None = None, kind: str | None = None, source: str | None = None
    ) -> AsyncGenerator[DeadLetter]:
        """Yields the letters, the newest first; without a `state` the open ones."""
        query: dict[str, object] = {"state": state, "kind": kind, "source": source}
        async with aclosing(self._pages(DeadLetterList, "/dead-letters", query)) as pages:
            async for page in pages:
                for letter in page.letters:
                    yield letter

    @call
    async def groups(self) -> tuple[DeadLetterGroup, ...]:
        """Returns the open letters by cause, with their numbers."""
        query: dict[str, object] = {"limit": 1}
        return (await self._ask(DeadLetterList, "GET", "/dead-letters", query=query)).groups

    @call
    async def get(self, letter: int) -> DeadLetterStory:
        """Returns a letter with its traceback and every attempt at its page."""
        return await self._ask(DeadLetterStory, "GET", f"/dead-letters/{letter}")

    @call
    async def retry(self, letter: int) -> SettledLetters:
        """Retries the page of a letter, for every job that requested it."""
        return await self._ask(SettledLetters, "POST", f"/dead-letters/{letter}/retry")

    @call
    async def resolve(self, letter: int) -> SettledLetters:
        """Marks a letter as resolved, without a retry."""
        return await self._ask(SettledLetters, "POST", f"/dead-letters/{letter}/resolve")

    @call
    async def retry_many(self, **which: Unpack[WhichLetters]) -> SettledLetters:
        """Counts the letters that match; with `preview=False` retries them."""
        return await self._ask(SettledLetters, "POST", "/dead-letters/retry", body=as_json(which))

    @call
    async def resolve_many(self, **which: Unpack[WhichLetters]) -> SettledLetters:
        """Counts the letters that match; with `preview=False` resolves them."""
        return await self._ask(SettledLetters, "POST", "/dead-letters/resolve", body=as_json(which))
