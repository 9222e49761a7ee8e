"""Closes engines that are still open when the program ends."""

import concurrent.futures.thread  # noqa: F401 - its own hook, registered first, runs after ours
import threading
from collections.abc import Callable
from functools import cache

_open: dict[int, Callable[[], None]] = {}


def close_at_exit(engine: object, close: Callable[[], None]) -> None:
    """Calls `close` when the main thread has ended, while threads can still be started."""
    _register()
    _open[id(engine)] = close


def closed(engine: object) -> None:
    """Notes that the program has closed the engine."""
    _open.pop(id(engine), None)


@cache
def _register() -> None:
    # `atexit` is too late: by then no thread can be started, and the store needs some
    threading._register_atexit(_close_all)  # type: ignore[attr-defined]  # noqa: SLF001


def _close_all() -> None:
    for close in list(_open.values()):
        close()
