"""Changes of alerts among the events of all jobs.

Both have numbers of their own. The id of an event is therefore the place among the events of jobs,
and, as soon as there was an alert, a plus and the number of the last change: `12-345+6`. So a
client that resumes misses neither. Each is in its own order; between the two there is none.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any, NamedTuple, Self

import orjson

from curtsy.alerts.message import as_json
from curtsy.alerts.stored_changes import StoredChange, end_of_changes
from curtsy.api.streams.messages import update_of_all
from curtsy.api.streams.sse import sse
from curtsy.events import BadPlace, Place, StoredEvent, end_of_all
from curtsy.store import Connection

_PLACES = re.compile(r"([0-9-]{3,37})(?:\+([0-9]{1,18}))?")


def end_of_both(connection: Connection, *, sees_alerts: bool) -> "Places":
    """Where a stream begins that shows only what is new."""
    return Places(end_of_all(connection), end_of_changes(connection) if sees_alerts else 0)


class Places(NamedTuple):
    """What a client has received."""

    job_event: Place
    alert_change: int
    """The number of the last change; 0: none."""

    def __str__(self) -> str:
        change = f"+{self.alert_change}" if self.alert_change else ""
        return f"{self.job_event}{change}"

    @classmethod
    def parse(cls, text: str) -> Self:
        found = _PLACES.fullmatch(text)
        if found is None:
            raise BadPlace("This is not a place in the stream of events.")
        return cls(Place.parse(found[1]), int(found[2] or 0))


def alert_message(change: StoredChange) -> dict[str, Any]:
    return as_json(change.message) | {"event": f"alert_{change.phase}"}


def alert_messages(changes: Iterable[StoredChange]) -> list[dict[str, Any]]:
    return [alert_message(change) for change in changes]


async def sse_with_alerts(
    events: AsyncGenerator[StoredEvent], changes: AsyncGenerator[StoredChange], places: Places
) -> AsyncGenerator[bytes]:
    """Yields both as they come; those of alerts have the event name `alert`."""
    async with aclosing(_as_they_come(events, changes)) as found:
        async for one in found:
            if isinstance(one, StoredEvent):
                places = places._replace(job_event=one.place)
                yield sse(update_of_all(one), id=str(places))
            else:
                places = places._replace(alert_change=one.seq)
                yield sse(orjson.dumps(alert_message(one)), id=str(places), event="alert")


async def _as_they_come(
    events: AsyncGenerator[StoredEvent], changes: AsyncGenerator[StoredChange]
) -> AsyncGenerator[StoredEvent | StoredChange]:
    """Waits for both; an error of one ends both."""
    waiting: dict[asyncio.Task[Any], AsyncGenerator[Any]] = {}
    try:
        for source in (events, changes):
            waiting[_next_of(source)] = source
        while waiting:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                source = waiting.pop(task)
                found = task.result()
                waiting[_next_of(source)] = source
                yield found
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await events.aclose()
        await changes.aclose()


def _next_of(source: AsyncGenerator[Any]) -> "asyncio.Task[Any]":
    async def following() -> Any:
        return await anext(source)

    return asyncio.create_task(following())
