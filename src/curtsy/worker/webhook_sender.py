"""Delivers webhooks. Any worker may do it; the addresses are guarded like those of any fetch."""

from collections.abc import Mapping

from curtsy.clock import Clock
from curtsy.events.delivery_loop import DeliveryLoop, post
from curtsy.events.webhook_secrets import signature
from curtsy.events.webhooks import (
    Delivery,
    begin_deliveries,
    is_any_due,
    record_delivery,
)
from curtsy.fetch import Fetcher, Limits
from curtsy.fetch.guard import Network
from curtsy.logs import logger
from curtsy.store import Store

log = logger("worker")

AT_ONCE, AT_ONE_RECEIVER = 40, 4
POLL_SECONDS = 2.0
LIMITS = Limits(connect_seconds=5, total_seconds=15, body_bytes=64 * 2**10, wire_bytes=64 * 2**10)


class WebhookSender:
    """Its `fetcher` follows no redirects and refuses private addresses."""

    def __init__(self, *, store: Store, clock: Clock, fetcher: Fetcher) -> None:
        self._store, self._clock, self._fetcher = store, clock, fetcher
        self._loop = DeliveryLoop("webhooks", begin=self._begin, deliver=self._deliver,
                                  at_once=AT_ONCE, poll_seconds=POLL_SECONDS)  # fmt: skip

    async def run(self) -> None:
        await self._loop.run()

    async def _begin(self, room: int, under_way: Mapping[str, int]) -> list[Delivery]:
        now = self._clock.now()
        if not await self._store.read(lambda c: is_any_due(c, now=now)):
            return []
        return await self._store.write(
            lambda c: begin_deliveries(c, most=room, each=AT_ONE_RECEIVER, under_way=under_way,
                                       now=now)
        )  # fmt: skip

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
        return await post(self._fetcher, delivery.url, headers, delivery.body)


def webhook_fetcher(user_agent: str, allow: tuple[Network, ...]) -> Fetcher:
    return Fetcher(limits=LIMITS, user_agent=user_agent, allow=allow)
