"""Alerts: lists them, shows and changes their rules, mutes them, and tests their channels."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Path, Query

from curtsy.alerts import overview, stored_rules
from curtsy.alerts.outbox import insert_test, last_deliveries
from curtsy.alerts.rule_fields import RuleFields
from curtsy.alerts.stored_channels import require_channels, stored_channels
from curtsy.alerts.stored_rules import ListedRule
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.schemas.alerts import (
    AlertList,
    AlertTest,
    ChannelList,
    DeliveryShown,
    MuteBody,
    MuteShown,
    RuleBody,
    RuleDeleted,
    RuleList,
    RuleShown,
    UnmuteBody,
    alert_list,
    channel_shown,
    delivery_shown,
    rule_shown,
)
from curtsy.clock import HOUR, rfc3339
from curtsy.store import Connection

router = APIRouter(
    route_class=JsonRoute, prefix="/alerts", generate_unique_id_function=attrgetter("name")
)
RuleName = Annotated[str, Path(max_length=300)]


@router.get("", responses=problems())
async def list_alerts(
    backend: TheBackend, resolved_hours: Annotated[float, Query(ge=0, le=720)] = 24.0
) -> AlertList:
    """What fires, what is pending, and what was resolved in the last hours."""
    now = backend.clock.now()
    since = now - round(resolved_hours * HOUR)
    found = await backend.read(lambda c: overview.list_alerts(c, resolved_since=since, now=now))
    return alert_list(found)


@router.get("/rules", responses=problems())
async def list_alert_rules(backend: TheBackend) -> RuleList:
    """All rules: the built-in ones and your own."""

    def read(connection: Connection) -> list[RuleShown]:
        mutes = stored_rules.mutes_of_rules(connection, now=backend.clock.now())
        return [rule_shown(one, mutes.get(name))
                for name, one in stored_rules.listed_rules(connection).items()]  # fmt: skip

    return RuleList(rules=await backend.read(read))


@router.get("/rules/{rule}", responses=problems(404))
async def get_alert_rule(rule: RuleName, backend: TheBackend) -> RuleShown:
    """One rule."""
    now = backend.clock.now()
    return await backend.read(lambda c: _shown(c, stored_rules.rule_named(c, rule), now))


@router.put("/rules/{rule}", responses=problems(409, 413, 507))
async def put_alert_rule(rule: RuleName, body: RuleBody, backend: TheBackend) -> RuleShown:
    """Declare a rule, or change a built-in one; replaces what was stored under its name."""
    fields, now = RuleFields.model_validate(body.model_dump(by_alias=True)), backend.clock.now()

    def put(connection: Connection) -> RuleShown:
        require_channels(connection, fields.channels or ())
        return _shown(connection, stored_rules.put_rule(connection, rule, fields, now=now), now)

    return await backend.write(put)


@router.delete("/rules/{rule}", responses=problems(404, 507))
async def delete_alert_rule(rule: RuleName, backend: TheBackend) -> RuleDeleted:
    """Delete a rule; a built-in rule becomes again what it was. Its alerts are resolved."""
    is_builtin = await backend.write(lambda c: stored_rules.delete_rule(c, rule))
    what = "is again as it came" if is_builtin else "is deleted"
    return RuleDeleted(name=rule, message=f"{rule} {what}.")


@router.get("/channels", responses=problems())
async def list_alert_channels(backend: TheBackend) -> ChannelList:
    """The channels of `alerts.toml`, without their secrets, with the last message to each."""

    def read(connection: Connection) -> ChannelList:
        channels = stored_channels(connection)
        last = last_deliveries(connection, list(channels))
        return ChannelList(channels=[channel_shown(channel, last.get(name))
                                     for name, channel in channels.items()])  # fmt: skip

    return await backend.read(read)


@router.post("/test", status_code=202, responses=problems(404, 409, 413, 507))
async def create_alert_test(body: AlertTest, backend: TheBackend) -> DeliveryShown:
    """Send a test message to a channel; a scheduler sends it within seconds. `GET
    /alerts/channels` shows whether it arrived."""
    now = backend.clock.now()
    return delivery_shown(await backend.write(lambda c: insert_test(c, body.channel, now=now)))


@router.post("/{rule}/mute", responses=problems(404, 409, 413, 507))
async def mute_alert(rule: RuleName, body: MuteBody, backend: TheBackend) -> MuteShown:
    """Hold back messages about a rule, or one of its alerts, until a moment. What still fires then
    is announced then."""
    now = backend.clock.now()
    until = body.until_at(now)
    await backend.write(lambda c: stored_rules.mute(c, rule, body.subject, until=until, now=now))
    return MuteShown(rule=rule, subject=body.subject, until=rfc3339(until))


@router.post("/{rule}/unmute", responses=problems(404, 409, 413, 507))
async def unmute_alert(rule: RuleName, body: UnmuteBody, backend: TheBackend) -> MuteShown:
    """End a mute at once."""
    await backend.write(lambda c: stored_rules.unmute(c, rule, body.subject))
    return MuteShown(rule=rule, subject=body.subject, until=None)


def _shown(connection: Connection, listed: ListedRule, now: int) -> RuleShown:
    mutes = stored_rules.mutes_of_rules(connection, now=now)
    return rule_shown(listed, mutes.get(listed.rule.name))
