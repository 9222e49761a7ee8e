"""Alerts, rules and channels, as the API shows and takes them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from curtsy.alerts.channel import Channel
from curtsy.alerts.metric import TEXTS, Metric
from curtsy.alerts.outbox import StoredDelivery
from curtsy.alerts.overview import ListedAlert, Listing
from curtsy.alerts.rule import Rule
from curtsy.alerts.rule_fields import RuleFields
from curtsy.alerts.state_machine import Phase
from curtsy.alerts.stored_rules import LONGEST_MUTE, ListedRule
from curtsy.clock import SECOND, rfc3339, rfc3339_or_none
from curtsy.requests import examples
from curtsy.requests.instants import Moment

Subject = Annotated[str, StringConstraints(max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]


class AlertShown(BaseModel):
    """An alert of a rule: about one source, site, schedule or worker, or about the system."""

    rule: str
    subject: str
    """Empty: the whole system."""
    phase: Literal["firing", "pending", "resolved"]
    severity: Literal["info", "warning", "critical"]
    value: float | None
    """As last known."""
    threshold: float | None
    unit: str
    says: str
    """A sentence."""
    to_do: str | None
    """What to do first."""
    since: str
    """When this phase began."""
    fired_at: str | None
    resolved_at: str | None
    muted_until: str | None


class AlertList(BaseModel):
    alerts: list[AlertShown]
    firing: int
    pending: int
    evaluated_at: str | None
    """When the rules were last evaluated; a scheduler does it about every 15 seconds."""


class RuleShown(BaseModel):
    """A rule, with its defaults. Spans are seconds."""

    name: str
    builtin: bool
    changed: dict[str, Any]
    """The fields that `alerts.toml` or the API set."""
    of_file: bool
    """It stands in `alerts.toml`; a change through the API holds until its section changes."""
    metric: Metric
    about: str | None
    """What one alert is about, such as a source; null: the whole system."""
    above: float | None
    below: float | None
    clear: float
    hold: float = Field(alias="for")
    unit: str
    severity: Literal["info", "warning", "critical"]
    window: float | None
    at_least: int | None
    only: list[str]
    excluded: list[str] = Field(alias="except")
    channels: list[str]
    enabled: bool
    muted_until: str | None
    """All alerts of the rule are muted until then."""


class RuleList(BaseModel):
    rules: list[RuleShown]


class RuleBody(RuleFields):
    """A rule; for a built-in rule, what is changed of it. It replaces what was stored before."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=examples.shown(examples.RULE))


class RuleDeleted(BaseModel):
    name: str
    message: str


class MuteBody(BaseModel):
    """How long to mute: `until`, or `seconds` from now."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=examples.shown(examples.MUTE))

    subject: Subject = ""
    """Empty: all alerts of the rule."""
    until: Moment | None = None
    seconds: int | None = Field(None, ge=1, le=LONGEST_MUTE // SECOND)

    @model_validator(mode="after")
    def _has_an_end(self) -> "MuteBody":
        if (self.until is None) == (self.seconds is None):
            raise ValueError("send either until or seconds")
        return self

    def until_at(self, now: int) -> int:
        if self.seconds is not None:
            return now + self.seconds * SECOND
        assert self.until is not None, "one of both is given"
        return _instant(self.until)


class UnmuteBody(BaseModel):
    """What to unmute."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=examples.shown(examples.UNMUTE))

    subject: Subject = ""


class MuteShown(BaseModel):
    """A mute, as it is now."""

    rule: str
    subject: str
    until: str | None
    """null: not muted."""


class DeliveryShown(BaseModel):
    """A message to a channel."""

    id: int
    channel: str
    test: bool
    state: Literal["waiting", "delivered", "failed"]
    attempts: int
    next_at: str | None
    error: str | None
    created_at: str
    ended_at: str | None


class ChannelShown(BaseModel):
    """A channel of `alerts.toml`, without its secrets."""

    name: str
    kind: str
    leads_to: str
    severity: str
    """The least severity of the alerts whose messages it gets."""
    private: bool
    enabled: bool
    last: DeliveryShown | None
    """The newest message to it."""


class ChannelList(BaseModel):
    channels: list[ChannelShown]


class AlertTest(BaseModel):
    """Which channel to test."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=examples.shown(examples.ALERT_TEST))

    channel: str = Field(min_length=1, max_length=100)


def alert_list(listing: Listing) -> AlertList:
    alerts = [_alert(one) for one in listing.alerts]
    firing, pending = (sum(one.phase == phase for one in alerts)
                       for phase in (Phase.FIRING, Phase.PENDING))  # fmt: skip
    return AlertList(alerts=alerts, firing=firing, pending=pending,
                     evaluated_at=rfc3339_or_none(listing.evaluated_at))  # fmt: skip


def _alert(one: ListedAlert) -> AlertShown:
    stored = one.stored
    return AlertShown(
        rule=stored.rule, subject=stored.subject, phase=str(stored.phase),  # type: ignore[arg-type]
        severity=one.severity.word, value=stored.value,  # type: ignore[arg-type]
        threshold=one.threshold, unit=one.unit, says=one.says, to_do=one.to_do,
        since=rfc3339(stored.since_at), fired_at=rfc3339_or_none(stored.fired_at),
        resolved_at=rfc3339_or_none(stored.resolved_at),
        muted_until=rfc3339_or_none(one.muted_until),
    )  # fmt: skip


def rule_shown(listed: ListedRule, muted_until: int | None) -> RuleShown:
    rule, text = listed.rule, TEXTS[listed.rule.metric]
    window, at_least = _window(rule)
    return RuleShown.model_validate({
        "name": rule.name, "builtin": listed.is_builtin, "changed": dict(listed.changed),
        "of_file": listed.is_of_file, "metric": rule.metric, "about": text.subject,
        "above": rule.above, "below": rule.below, "clear": rule.bounds.clear,
        "for": rule.hold / SECOND, "unit": text.unit, "severity": rule.severity.word,
        "window": window, "at_least": at_least, "only": list(rule.only),
        "except": list(rule.excluded), "channels": list(rule.channels), "enabled": rule.enabled,
        "muted_until": rfc3339_or_none(muted_until),
    })  # fmt: skip


def _window(rule: Rule) -> tuple[float | None, int | None]:
    if not TEXTS[rule.metric].has_window:
        return None, None
    return rule.window / SECOND, rule.at_least


def channel_shown(channel: Channel, last: StoredDelivery | None) -> ChannelShown:
    return ChannelShown(
        name=channel.name, kind=channel.kind, leads_to=channel.shown, severity=channel.severity,
        private=channel.is_private, enabled=channel.is_enabled,
        last=None if last is None else delivery_shown(last),
    )  # fmt: skip


def delivery_shown(row: StoredDelivery) -> DeliveryShown:
    return DeliveryShown(
        id=row.id, channel=row.channel, test=row.change_seq is None,
        state=row.state,  # type: ignore[arg-type]
        attempts=row.attempts, next_at=rfc3339_or_none(row.next_at), error=row.error,
        created_at=rfc3339(row.created_at), ended_at=rfc3339_or_none(row.ended_at),
    )  # fmt: skip


def _instant(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
