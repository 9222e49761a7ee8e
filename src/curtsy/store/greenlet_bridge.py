"""Runs plain functions that wait for coroutines.

A transaction is a plain function, and asyncpg is made of coroutines. The function runs in a
greenlet of its own: where it waits, it switches to the coroutine that started it, and goes on
there when the awaited value is known.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from greenlet import getcurrent, greenlet

T = TypeVar("T")


async def run_in_greenlet(work: Callable[..., T], *arguments: Any) -> T:
    """Runs the work until it returns; an error that it waited for is raised inside the work."""
    caller = getcurrent()
    running = greenlet(work, caller)
    running.gr_context = caller.gr_context  # the same context variables on both sides
    awaited = running.switch(*arguments)
    while not running.dead:
        try:
            value = await awaited
        except BaseException as error:
            awaited = running.throw(error)
        else:
            awaited = running.switch(value)
    return cast("T", awaited)


def wait_for(awaitable: Awaitable[T]) -> T:
    """Waits inside of work that `run_in_greenlet` runs."""
    caller = getcurrent().parent
    assert caller is not None, "only work in a greenlet can wait"
    return cast("T", caller.switch(awaitable))
