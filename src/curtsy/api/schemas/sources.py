"""Sources, as they are described and shown."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from curtsy.api.schemas.receipts import ReceiptDay, summed
from curtsy.clock import SECOND, rfc3339
from curtsy.model.failure_kinds import RULES, Kind
from curtsy.requests import examples
from curtsy.sources.policy_fields import PolicyChanges, PolicyFields, fields_in_force, fields_of
from curtsy.sources.source import Source


class SourceDescription(PolicyFields):
    """What is left out is as the settings have it; hosts, as they are."""

    model_config = ConfigDict(json_schema_extra=examples.shown(examples.SOURCE_DESCRIBED))


class SourceChanges(PolicyChanges):
    """What is left out stays as it is; null is as the settings have it."""

    model_config = ConfigDict(json_schema_extra=examples.shown(examples.SOURCE_CHANGED))


class PolicyInForce(PolicyFields):
    """With the defaults. Null: there is no such limit."""

    hosts: list[str] | None = None
    """None of them: all have moved to other sources."""


class Resting(BaseModel):
    """After trouble with the host nothing is asked for a while, and then one page alone."""

    because: str
    kind: str
    status: int | None = None
    """With which the host answered."""
    announced: bool
    """The host asked for it."""
    failures: int
    """In a row, those that the host announced not counted."""
    until: str | None = None
    """None: it is over, and one page is tried."""


class SourceShown(BaseModel):
    name: str
    hosts: list[str]
    """That share its budget."""
    hosts_are_all: bool
    described: bool
    """Somebody said something of it; else it is as the settings have it."""
    said: dict[str, Any]
    """What was said, in the words of `PUT`. Secrets are shown as ***."""
    policy: PolicyInForce
    paused: bool
    paused_by: str | None = None
    """A user, `anyone` where nobody is asked who it is, or `policy`: it is not enabled."""
    waiting: int
    waiting_is_capped: bool
    """There are more: one source is counted up to 10,000, in a long list each one less far."""
    next_start_at: str | None = None
    """None: at once, or never while it is paused."""
    in_respectful_hours: bool
    crawl_delay_seconds: float | None = None
    """That its robots.txt asks for."""
    resting: Resting | None = None
    used_this_hour: int | None = None
    """Requests in the last 60 minutes; None: they are not limited."""
    utilisation: float | None = None
    """The used part of the hour's limit, 1 being all of it."""
    today: ReceiptDay
    """What it had of us since midnight, UTC."""


class SourceList(BaseModel):
    sources: list[SourceShown]
    """By name."""
    limit: int
    next_cursor: str | None = None


class Forgotten(BaseModel):
    name: str
    message: str


def shown(source: Source, now: int) -> SourceShown:
    row, limit, hours = source.row, source.policy.requests_per_hour, source.policy.hours
    next_at = source.next_start_at(now)
    return SourceShown(
        name=row.name, hosts=list(source.hosts), hosts_are_all=source.hosts_are_all,
        described=row.described, said=_said(source),
        policy=PolicyInForce.model_construct(**_in_force(source)),
        paused=row.paused, paused_by=row.paused_by,
        waiting=source.waiting, waiting_is_capped=source.waiting_is_capped,
        next_start_at=None if next_at is None else rfc3339(next_at),
        in_respectful_hours=hours is not None and hours.within(now),
        crawl_delay_seconds=source.crawl_delay / SECOND if source.crawl_delay else None,
        resting=_resting(source, now), used_this_hour=source.used,
        utilisation=None if source.used is None else round(source.used / limit, 3),
        today=summed([source.today] if source.today is not None else []),
    )  # fmt: skip


def _said(source: Source) -> dict[str, Any]:
    said = fields_of(source.overrides).model_dump(exclude_none=True)
    return said if source.is_enabled else said | {"enabled": False}


def _in_force(source: Source) -> dict[str, Any]:
    words = fields_in_force(source.policy)
    return dict(words) | {"hosts": list(source.hosts), "enabled": source.is_enabled}


def _resting(source: Source, now: int) -> Resting | None:
    why = source.stored_pace.get("why")
    if why is None:
        return None
    until = source.rests_until(now)
    return Resting(
        because=_sentence(why), kind=why["kind"], status=why.get("status"),
        announced=why["announced"], failures=source.row.fail_streak,
        until=None if until is None else rfc3339(until),
    )  # fmt: skip


def _sentence(why: dict[str, Any]) -> str:
    means = RULES[Kind(why["kind"])].means
    status = f" ({why['status']})" if why.get("status") else ""
    asked = ", and said for how long" if why["announced"] else ""
    return f"{means}{status}{asked}"
