"""Follows events on a WebSocket, and pages of events or log lines by polling.

A connection that is cut is opened again after the last message that arrived.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from curtsy.client.http import ApiConnection, Declined, Unanswered
from curtsy.client.retries import Patience

APP_CLOSE_CODES = range(4000, 5000)
"""Close codes that mean an HTTP status (4404 is 404); connecting again does not help."""
POLL_SECONDS = 0.5
Message = dict[str, Any]


async def follow(
    api: ApiConnection, path: str, after: int | str | None, patience: Patience
) -> AsyncGenerator[Message]:
    """Yields every message after `after`, without end.

    The first message after each connect is the current state.
    """
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

    last = after
    while True:
        place = f"?after={last}" if last is not None else ""
        error: Declined | Unanswered | None = None
        try:
            async with connect(api.stream_url(path + place), **api.stream_options()) as stream:
                async for message in stream:
                    patience.reset()
                    event = json.loads(message)
                    last = event["seq"]
                    yield event
        except ConnectionClosed as closed:
            if closed.rcvd is not None and closed.rcvd.code in APP_CLOSE_CODES:
                status = closed.rcvd.code - APP_CLOSE_CODES.start
                raise Declined(status, "refused", closed.rcvd.reason) from None
        except InvalidStatus as refused:
            reply = refused.response
            error = api.error_from(reply.status_code, reply.headers, bytes(reply.body or b""))
        except (WebSocketException, OSError) as failure:
            error = Unanswered(api.place, str(failure))
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
