"""Alerts: what fires, by which rules, and whom they are sent to."""

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote

from curtsy.client.answers import (
    AlertDelivery,
    AlertList,
    AlertRule,
    Channel,
    ChannelList,
    Mute,
    RuleDeleted,
    RuleList,
)
from curtsy.client.faces import Face, Resource, call
from curtsy.client.request_bodies import as_json


class Alerts(Resource[Face]):
    """Alerts and their rules, by name."""

    @call
    async def list(self, *, resolved_hours: int | None = None) -> AlertList:
        """Returns what fires, what is pending, and what was resolved of late."""
        query: dict[str, object] = {"resolved_hours": resolved_hours}
        return await self._ask(AlertList, "GET", "/alerts", query=query)

    @call
    async def rules(self) -> tuple[AlertRule, ...]:
        return (await self._ask(RuleList, "GET", "/alerts/rules")).rules

    @call
    async def rule(self, name: str) -> AlertRule:
        return await self._ask(AlertRule, "GET", _rule(name))

    @call
    async def set_rule(self, name: str, fields: Mapping[str, object]) -> AlertRule:
        """Declares a rule, or changes a built-in one. `fields` is a mapping, since two of them
        are words of Python: `for` and `except`."""
        return await self._ask(AlertRule, "PUT", _rule(name), body=as_json(fields))

    @call
    async def delete_rule(self, name: str) -> RuleDeleted:
        """Deletes a rule; a built-in one becomes again what it was."""
        return await self._ask(RuleDeleted, "DELETE", _rule(name))

    @call
    async def channels(self) -> tuple[Channel, ...]:
        """Returns the channels of `alerts.toml` without their secrets."""
        return (await self._ask(ChannelList, "GET", "/alerts/channels")).channels

    @call
    async def test(self, channel: str) -> AlertDelivery:
        """Sends a test message to a channel."""
        return await self._ask(AlertDelivery, "POST", "/alerts/test", body={"channel": channel})

    @call
    async def mute(
        self, rule: str, *, subject: str = "", seconds: int | None = None,
        until: datetime | None = None,
    ) -> Mute:  # fmt: skip
        """Holds back messages for so many seconds, or until an instant."""
        wanted = {"subject": subject, "seconds": seconds, "until": until}
        body = as_json({name: value for name, value in wanted.items() if value is not None})
        return await self._ask(Mute, "POST", f"/alerts/{quote(rule, safe='')}/mute", body=body)

    @call
    async def unmute(self, rule: str, *, subject: str = "") -> Mute:
        path = f"/alerts/{quote(rule, safe='')}/unmute"
        return await self._ask(Mute, "POST", path, body={"subject": subject})


def _rule(name: str) -> str:
    return f"/alerts/rules/{quote(name, safe='')}"
