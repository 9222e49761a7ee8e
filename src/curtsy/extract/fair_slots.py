"""Limits how many pages are scraped at once, without letting slow pages block fast ones."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SLOW_AFTER_SECONDS = 1.0


class FairSlots:
    """Hands out `number` slots. A page that holds a slot for long releases the slot to others while
    the page goes on, for up to `number` pages; so a few slow pages cannot block all others."""

    def __init__(self, number: int) -> None:
        self._free = asyncio.Semaphore(number)
        self._extra = number

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        is_extra = False

        def release_early() -> None:
            nonlocal is_extra
            if self._extra > 0:
                is_extra = True
                self._extra -= 1
                self._free.release()

        await self._free.acquire()
        timer = asyncio.get_running_loop().call_later(SLOW_AFTER_SECONDS, release_early)
        try:
            yield
        finally:
            timer.cancel()
            if is_extra:
                self._extra += 1
            else:
                self._free.release()
