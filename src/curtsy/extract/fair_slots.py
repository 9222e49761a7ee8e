"""Places for pages that are read side by side."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

ASIDE_AFTER_SECONDS = 1.0


class FairSlots:
    """A page that takes long steps aside, so that a few of them cannot hold up all others: as many
    again may be read beside them."""

    def __init__(self, number: int) -> None:
        self._free = asyncio.Semaphore(number)
        self._aside = number

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        is_aside = False

        def step_aside() -> None:
            nonlocal is_aside
            if self._aside > 0:
                is_aside = True
                self._aside -= 1
                self._free.release()

        await self._free.acquire()
        later = asyncio.get_running_loop().call_later(ASIDE_AFTER_SECONDS, step_aside)
        try:
            yield
        finally:
            later.cancel()
            if is_aside:
                self._aside += 1
            else:
                self._free.release()
