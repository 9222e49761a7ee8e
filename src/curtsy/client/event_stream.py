"""Events as they come, on a WebSocket that is opened again where it was whenever it is cut."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from curtsy.client.http import ApiConnection, Declined, Unanswered
from curtsy.client.retries import Patience

OURS = range(4000, 5000)
"""Close codes that say what the status of an answer would, and that coming back does not mend."""
Message = dict[str, Any]


async def follow(
    talk: ApiConnection, path: str, after: int | str | None, patience: Patience
) -> AsyncGenerator[Message]:
    """Every message behind `after`, for ever; each time it is opened, first how things stand."""
    last = after
    while True:
        place = f"?after={last}" if last is not None else ""
        trouble: Declined | Unanswered | None = None
        try:
            async with connect(talk.stream_url(path + place), **talk.stream_options()) as stream:
                async for message in stream:
                    patience.answered()
                    told = json.loads(message)
                    last = told["seq"]
                    yield told
        except ConnectionClosed as closed:
            if closed.rcvd is not None and closed.rcvd.code in OURS:
                status = closed.rcvd.code - OURS.start
                raise Declined(status, "refused", closed.rcvd.reason) from None
        except InvalidStatus as refused:
            answer = refused.response
            trouble = talk.declined(answer.status_code, answer.headers, bytes(answer.body or b""))
        except (WebSocketException, OSError) as error:
            trouble = Unanswered(talk.place, str(error))
        await (patience.bear(trouble) if trouble is not None else patience.pause())


LOOK_EVERY_SECONDS = 0.5


async def pages(talk: ApiConnection, path: str) -> AsyncGenerator[dict[str, Any]]:
    """Page after page, for ever; none is missed."""
    patience, last = Patience(talk), None
    while True:
        since = {"Accept": "application/json"} | ({"Last-Event-ID": last} if last else {})
        page = await patience.ask(lambda: talk.ask("GET", path, headers=since))  # noqa: B023
        yield page
        if page["last"] == last:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        last = page["last"]
