"""Events and logs a page at a time, for those who ask now and then instead of listening."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from curtsy.client.http import Talk
from curtsy.client.retries import Patience

LOOK_EVERY_SECONDS = 0.5


async def pages(talk: Talk, path: str) -> AsyncGenerator[dict[str, Any]]:
    """Page after page, for ever; none is missed."""
    patience, last = Patience(talk), None
    while True:
        since = {"Accept": "application/json"} | ({"Last-Event-ID": last} if last else {})
        page = await patience.ask(lambda: talk.ask("GET", path, headers=since))  # noqa: B023
        yield page
        if page["last"] == last:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        last = page["last"]
