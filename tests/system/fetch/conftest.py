"""Every test here runs on both event loops: they report the same trouble differently."""

import asyncio
from collections.abc import Callable, Mapping

import uvloop

from fetch.sites import serve

__all__ = ["serve"]


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
