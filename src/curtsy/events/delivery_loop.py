"""The loop of a sender: begins deliveries that are due, and lets each run by itself.

Deliveries run concurrently, but only a few at a time to one receiver: a receiver that hangs delays
only its own deliveries.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from curtsy import periodic
from curtsy.fetch import Fetcher, Request
from curtsy.model.outcome import Failed
from curtsy.model.urls import as_given


class Addressed(Protocol):
    """A delivery."""

    @property
    def receiver(self) -> str: ...


D = TypeVar("D", bound=Addressed)


class DeliveryLoop(Generic[D]):
    """`begin` claims up to so many due deliveries; it gets the number of running ones by receiver.
    `deliver` makes one attempt and records it."""

    def __init__(
        self, name: str, *, begin: Callable[[int, Mapping[str, int]], Awaitable[Sequence[D]]],
        deliver: Callable[[D], Awaitable[None]], at_once: int, poll_seconds: float,
    ) -> None:  # fmt: skip
        self._name, self._claim, self._deliver = name, begin, deliver
        self._at_once, self._poll_seconds = at_once, poll_seconds
        self._under_way: Counter[str] = Counter()
        """Running deliveries by receiver."""
        self._ended = periodic.Wake()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            await periodic.run(self._name, partial(self._begin, group), self._ended)

    async def _begin(self, group: asyncio.TaskGroup) -> float:
        if room := self._at_once - self._under_way.total():
            for delivery in await self._claim(room, dict(self._under_way)):
                self._under_way[delivery.receiver] += 1
                group.create_task(self._attempt(delivery))
        return self._poll_seconds * random.uniform(0.8, 1.2)

    async def _attempt(self, delivery: D) -> None:
        try:
            await periodic.once(self._name, partial(self._deliver, delivery))
        finally:
            self._under_way -= Counter([delivery.receiver])
            self._ended()


async def post(
    fetcher: Fetcher, url: str, headers: tuple[tuple[str, str], ...], body: bytes
) -> tuple[int | None, str | None]:
    """Sends a POST; returns the status, and why the receiver did not accept it."""
    request = Request(as_given(url).text, headers, body=body, only_status=True)
    reply = await fetcher.fetch(request, lambda: True)
    if isinstance(reply, Failed):
        return reply.status, reply.error
    if 200 <= reply.status < 300:
        return reply.status, None
    return reply.status, f"The receiver answered {reply.status}."
