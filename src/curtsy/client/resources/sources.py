"""Sources: how politely their hosts are fetched, what holds them up, and what was sent to them."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Unpack
from urllib.parse import quote

from curtsy.client.answers import Forgotten, Receipt, Source, SourceList, Waiting
from curtsy.client.bodies import SourceChanges, SourceDescription
from curtsy.client.faces import Face, Resource, call, each
from curtsy.client.request_bodies import as_json


class Sources(Resource[Face]):
    """Sources by name."""

    @each
    async def list(self, *, described: bool | None = None) -> AsyncGenerator[Source]:
        """Yields the sources; with `described=True` only those that have a description."""
        query: dict[str, object] = {"described": described}
        async with aclosing(self._pages(SourceList, "/sources", query)) as pages:
            async for page in pages:
                for source in page.sources:
                    yield source

    @call
    async def get(self, source: str) -> Source:
        """Returns a source with its policy, its queue and the figures of today."""
        return await self._ask(Source, "GET", _path(source))

    @call
    async def set(self, source: str, /, **description: Unpack[SourceDescription]) -> Source:
        """Describes a source; fields that are left out take the default of the settings."""
        return await self._ask(Source, "PUT", _path(source), body=as_json(description))

    @call
    async def change(self, source: str, /, **changes: Unpack[SourceChanges]) -> Source:
        """Changes the given fields; None restores a default."""
        return await self._ask(Source, "PATCH", _path(source), body=as_json(changes))

    @call
    async def delete(self, source: str) -> Forgotten:
        """Deletes the description of a source."""
        return await self._ask(Forgotten, "DELETE", _path(source))

    @call
    async def pause(self, source: str) -> Source:
        """Sends it no requests until it is resumed."""
        return await self._ask(Source, "POST", f"{_path(source)}/pause")

    @call
    async def resume(self, source: str) -> Source:
        return await self._ask(Source, "POST", f"{_path(source)}/resume")

    @call
    async def why(self, source: str) -> Waiting:
        """Returns what its pages wait for."""
        return await self._ask(Waiting, "GET", f"{_path(source)}/why")

    @call
    async def receipt(self, source: str, *, days: int | None = None) -> Receipt:
        """Returns the requests of the last days, for the site's owner."""
        headers, query = {"Accept": "application/json"}, {"days": days}
        return await self._ask(
            Receipt, "GET", f"{_path(source)}/receipt", query=dict(query), headers=headers
        )


def _path(source: str) -> str:
    return f"/sources/{quote(source, safe='')}"
