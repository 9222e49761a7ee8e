"""Sends the messages about alerts. Any scheduler may do it."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Self

from curtsy.alerts.channel import Channel
from curtsy.alerts.mail import Mailer
from curtsy.alerts.message import address_of, body_of
from curtsy.alerts.outbox import (
    AlertDelivery,
    begin_deliveries,
    is_any_due,
    record_delivery,
)
from curtsy.clock import Clock
from curtsy.events.delivery_loop import DeliveryLoop, post
from curtsy.events.webhook_secrets import signature, signing_secret
from curtsy.fetch import Fetcher, Limits
from curtsy.fetch.connector import ANYWHERE
from curtsy.fetch.guard import Network
from curtsy.logs import logger
from curtsy.references import SecretMissing
from curtsy.store import Store

log = logger("alerts")

AT_ONCE, AT_ONE_CHANNEL = 16, 2
POLL_SECONDS = 2.0
LIMITS = Limits(connect_seconds=5, total_seconds=15, body_bytes=64 * 2**10, wire_bytes=64 * 2**10)


class Notifier:
    """`async with` it, then `run` it. Follows no redirects."""

    def __init__(
        self, *, store: Store, clock: Clock, user_agent: str, allow: tuple[Network, ...]
    ) -> None:
        """`allow`: addresses that are not public and that every channel may have; a channel with
        `private = true` may have any."""
        self._store, self._clock = store, clock
        self._guarded = Fetcher(limits=LIMITS, user_agent=user_agent, allow=allow)
        self._anywhere = Fetcher(limits=LIMITS, user_agent=user_agent, allow=ANYWHERE)
        self._mailer = Mailer(allow=allow)
        self._loop = DeliveryLoop("alert_messages", begin=self._begin, deliver=self._deliver,
                                  at_once=AT_ONCE, poll_seconds=POLL_SECONDS)  # fmt: skip

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opened:
            for part in (self._guarded, self._anywhere, self._mailer):
                await opened.enter_async_context(part)
            self._opened = opened.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()

    async def run(self) -> None:
        await self._loop.run()

    async def _begin(self, room: int, under_way: Mapping[str, int]) -> list[AlertDelivery]:
        now = self._clock.now()
        if not await self._store.read(lambda c: is_any_due(c, now=now)):
            return []
        return await self._store.write(
            lambda c: begin_deliveries(c, most=room, each=AT_ONE_CHANNEL, under_way=under_way,
                                       now=now)
        )  # fmt: skip

    async def _deliver(self, delivery: AlertDelivery) -> None:
        status, error = await self._send(delivery)
        now = self._clock.now()
        await self._store.write(
            lambda c: record_delivery(c, delivery, status=status, error=error, now=now)
        )
        report = log.info if error is None else log.warning
        report("alert_message_sent" if error is None else "alert_message_not_sent",
               channel=delivery.receiver, message=delivery.message.id, attempt=delivery.attempt,
               status=status, error=error)  # fmt: skip

    async def _send(self, delivery: AlertDelivery) -> tuple[int | None, str | None]:
        channel = delivery.channel
        if channel is None:
            return None, f"The channel {delivery.receiver} is disabled, or declared no longer."
        try:
            if channel.kind == "mail":
                return await self._mailer.send(channel, delivery.message)
            return await self._post(channel, delivery)
        except SecretMissing as missing:
            return None, str(missing)

    async def _post(
        self, channel: Channel, delivery: AlertDelivery
    ) -> tuple[int | None, str | None]:
        url = channel.url()
        body = body_of(channel.kind, delivery.message, url)
        headers = [("Content-Type", "application/json"), ("Curtsy-Delivery", delivery.message.id)]
        if channel.kind == "json":
            headers.append(("Curtsy-Signature", await self._signature(body)))
        if (token := channel.secret("token")) is not None:
            headers.append(("Authorization", f"Bearer {token}"))
        fetcher = self._anywhere if channel.is_private else self._guarded
        return await post(fetcher, address_of(channel.kind, url), tuple(headers), body)

    async def _signature(self, body: bytes) -> str:
        """Signs with the secret of the jobs that no user owns, which are the operator's too."""
        now = self._clock.now()
        secret = await self._store.write(lambda c: signing_secret(c, None, now=now))
        return signature(secret.all, body, now=now)
