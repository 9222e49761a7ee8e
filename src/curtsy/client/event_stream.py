"""Follows events on a WebSocket, and pages of events or log lines by polling.

A connection that is cut is opened again after the last message that arrived.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from curtsy.client.http import ApiConnection, Declined, StreamRefused, Unanswered
from curtsy.client.retries import Patience

POLL_SECONDS = 0.5
Message = dict[str, Any]
"""An event as JSON: `event`, `seq` and `at`, and what belongs to the event."""


async def follow(
    api: ApiConnection, path: str, after: int | str | None, patience: Patience
) -> AsyncGenerator[Message]:
    """Yields every message after `after`, without end.

    The first message after each connect is the current state.
    """
    last = after
    while True:
        place = f"?after={last}" if last is not None else ""
        error: Declined | Unanswered | None = None
        try:
            async with aclosing(api.messages(path + place)) as messages:
                async for message in messages:
                    patience.reset()
                    event = json.loads(message)
                    last = event["seq"]
                    yield event
        except StreamRefused as refused:
            error = refused.error
            if refused.is_final:
                raise error from None
        await (patience.wait_or_raise(error) if error is not None else patience.pause())


async def poll_pages(api: ApiConnection, path: str) -> AsyncGenerator[dict[str, Any]]:
    """Yields page after page of the stream at `path`, without end and without a gap."""
    patience, last = Patience(api), None
    while True:
        since = {"Accept": "application/json"} | ({"Last-Event-ID": last} if last else {})
        page = await patience.call(lambda: api.request("GET", path, headers=since))  # noqa: B023
        yield page
        if page["last"] == last:
            await asyncio.sleep(POLL_SECONDS)
        last = page["last"]
