"""The event loop of an engine that a program without one starts."""

import asyncio
import sys


def new_loop() -> asyncio.AbstractEventLoop:
    """Returns a loop of uvloop where there is one, as in the processes of a service."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()
