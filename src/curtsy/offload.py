"""Runs computations whose size a caller decides in threads of their own, so that none of them holds
the event loop. Threads share one interpreter: they bound the loop's own turns, not the total."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Lock
from time import monotonic
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MANY_PAGES = 500
"""A request with more pages is processed off the loop; on it, 500 pages take about 5 ms."""
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="large-requests")
"""A pool of its own: large requests wait for each other, not for decompression or name lookups."""
LONGEST_PAUSE_SECONDS = 60.0


class _Collector:
    """The garbage collector of this process, and the large requests that pause it."""

    lock = Lock()
    requests = 0
    paused_at = 0.0


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the garbage collector during a large request: a search for cycles among the request's
    objects takes up to 0.2 s, in whichever thread it happens to start. Requests without a gap are
    interrupted by one search a minute."""
    with _Collector.lock:
        if not _Collector.requests:
            _Collector.paused_at = monotonic()
            gc.disable()
        elif monotonic() - _Collector.paused_at > LONGEST_PAUSE_SECONDS:
            _Collector.paused_at = monotonic()
            _THREADS.submit(gc.collect)
        _Collector.requests += 1
    try:
        yield
    finally:
        with _Collector.lock:
            _Collector.requests -= 1
        _THREADS.submit(_resume_collector)


def _resume_collector() -> None:
    """Searches what was created during the pause first, so that the loop does not have to."""
    if not _Collector.requests:
        gc.collect(1)
    with _Collector.lock:
        if not _Collector.requests:
            gc.enable()


def release(holder: list[object]) -> None:
    """Clears a list of large objects in a thread: freeing a million objects takes a while, too."""
    _THREADS.submit(holder.clear)


async def offload(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs the function in a thread and returns its result."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_THREADS, partial(function, *args, **kwargs))


async def offload_many(
    pages: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Runs the function in a thread if there are many pages, else at once."""
    if pages > MANY_PAGES:
        return await offload(function, *args, **kwargs)
    return function(*args, **kwargs)
