"""Delivers webhooks. Any worker may do it; the addresses are guarded like those of any fetch.

Deliveries run concurrently, but only a few at a time to one receiver: a receiver that hangs delays
only its own deliveries.
"""

import asyncio
import random
from collections import Counter
from functools import partial

from curtsy import periodic
from curtsy.clock import Clock
from curtsy.events.webhook_secrets import signature
from curtsy.events.webhooks import (
    Delivery,
    begin_deliveries,
    is_any_due,
    record_delivery,
)
from curtsy.fetch import Fetcher, Limits, Request
from curtsy.fetch.guard import Network
from curtsy.logs import logger
from curtsy.model.outcome import Failed
from curtsy.model.urls import as_given
from curtsy.store import Store

log = logger("worker")

AT_ONCE, AT_ONE_RECEIVER = 40, 4
POLL_SECONDS = 2.0
LIMITS = Limits(connect_seconds=5, total_seconds=15, body_bytes=64 * 2**10, wire_bytes=64 * 2**10)


class WebhookSender:
    """Its `fetcher` follows no redirects and refuses private addresses."""

    def __init__(self, *, store: Store, clock: Clock, fetcher: Fetcher) -> None:
        self._store, self._clock, self._fetcher = store, clock, fetcher
        self._under_way: Counter[str] = Counter()
        """Running deliveries by receiver."""
        self._ended = periodic.Wake()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            await periodic.run("webhooks", partial(self._begin, group), self._ended)

    async def _begin(self, group: asyncio.TaskGroup) -> float:
        now, room = self._clock.now(), AT_ONCE - self._under_way.total()
        if room and await self._store.read(lambda c: is_any_due(c, now=now)):
            under_way = dict(self._under_way)
            due = await self._store.write(
                lambda c: begin_deliveries(c, most=room, each=AT_ONE_RECEIVER,
                                           under_way=under_way, now=now)
            )  # fmt: skip
            for delivery in due:
                self._under_way[delivery.receiver] += 1
                group.create_task(self._attempt(delivery))
        return POLL_SECONDS * random.uniform(0.8, 1.2)

    async def _attempt(self, delivery: Delivery) -> None:
        try:
            await periodic.once("webhook", partial(self._deliver, delivery))
        finally:
            self._under_way -= Counter([delivery.receiver])
            self._ended()

    async def _deliver(self, delivery: Delivery) -> None:
        status, error = await self._send(delivery)
        now = self._clock.now()
        await self._store.write(
            lambda c: record_delivery(c, delivery, status=status, error=error, now=now)
        )
        log.info("webhook_sent", delivery=delivery.id, attempt=delivery.attempt, status=status,
                 error=error)  # fmt: skip

    async def _send(self, delivery: Delivery) -> tuple[int | None, str | None]:
        """Sends the delivery; returns the status and why it failed."""
        headers = (
            ("Content-Type", "application/json"),
            ("Curtsy-Delivery", str(delivery.id)),
            ("Curtsy-Signature", signature(delivery.secrets, delivery.body, now=self._clock.now())),
        )
        url = as_given(delivery.url).text
        request = Request(url, headers, body=delivery.body, only_status=True)
        reply = await self._fetcher.fetch(request, lambda: True)
        if isinstance(reply, Failed):
            return reply.status, reply.error
        if 200 <= reply.status < 300:
            return reply.status, None
        return reply.status, f"The receiver answered {reply.status}."


def webhook_fetcher(user_agent: str, allow: tuple[Network, ...]) -> Fetcher:
    return Fetcher(limits=LIMITS, user_agent=user_agent, allow=allow)
