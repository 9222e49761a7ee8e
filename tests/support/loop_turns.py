"""An event loop in a thread of its own, and the processor time of its longest turn."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class MeasuredLoop(asyncio.SelectorEventLoop):
    """Measures each turn in processor time of its own thread, so that neither other threads nor
    other processes count."""

    longest_turn = 0.0

    def _run_once(self) -> None:
        began = time.thread_time()
        super()._run_once()  # type: ignore[misc]
        self.longest_turn = max(self.longest_turn, time.thread_time() - began)


class LoopThread:
    """Runs a measured loop until the block ends."""

    def __init__(self) -> None:
        self.loop = MeasuredLoop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs the work on the measured loop; called from another loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    async def longest_turn(self, during: Callable[[], Awaitable[object]]) -> float:
        """Returns the seconds of the longest turn while the other loop does something."""
        self.loop.longest_turn = 0.0
        await during()
        await self.run(asyncio.sleep(0))
        return self.loop.longest_turn
