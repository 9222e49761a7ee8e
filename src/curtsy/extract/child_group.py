"""The children of one nursery: made when they are needed, kept while they are fit."""

from collections.abc import Callable
from typing import Any

from curtsy.extract.child_process import ChildProcess
from curtsy.extract.fork_server_client import ForkServerClient
from curtsy.model.failure_kinds import Kind


class ChildGroup:
    """Starts nothing before the first page."""

    def __init__(
        self,
        start: Callable[[], ForkServerClient],
        *,
        pages_per_process: int,
        keep_below_bytes: int,
    ) -> None:
        self._start = start
        self._pages_per_process, self._keep_below_bytes = pages_per_process, keep_below_bytes
        self.link: ForkServerClient | None = None
        self._idle: list[ChildProcess] = []

    async def reader(self) -> tuple[ForkServerClient, ChildProcess]:
        """One that is free, or a new one. Raises `NurseryGone`."""
        link = self.link
        if link is None or link.gone:
            # In one step: others who find it gone must not make a nursery each.
            gone, self.link = link, self._start()
            link = self.link
            self._idle.clear()
            if gone is not None:
                await gone.close()
        while self._idle:
            if (reader := self._idle.pop()).usable:
                return link, reader
        return link, await link.make()

    def keep(self, link: ForkServerClient, reader: ChildProcess, header: dict[str, Any]) -> None:
        """Or end it: it is not asked to end by itself, who knows what it has become."""
        spent = (
            reader.pages >= self._pages_per_process
            or header["peak"] > self._keep_below_bytes
            or header.get("kind") == Kind.EXTRACT_MEMORY
        )
        if spent:
            link.end(reader)
        else:
            self.lay_by(reader)

    def lay_by(self, reader: ChildProcess) -> None:
        self._idle.append(reader)

    async def close(self) -> None:
        if self.link is not None:
            await self.link.close()
