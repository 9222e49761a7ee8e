"""Runs computations whose size a caller decides in threads of their own, so that none of them holds
the event loop. Threads share one interpreter: they bound the loop's own turns, not the total."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MANY_PAGES = 500
"""A request with more pages is processed off the loop; on it, 500 pages take about 5 ms."""
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="large-requests")
"""A pool of its own: large requests wait for each other, not for decompression or name lookups."""


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
