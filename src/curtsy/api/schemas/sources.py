"""Sources: requests that describe them, and responses that show them."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from curtsy.api.schemas.receipts import ReceiptDay, summed
from curtsy.clock import SECOND, rfc3339
from curtsy.model.failure_kinds import RULES, Kind
from curtsy.requests import examples
from curtsy.sources.policy_fields import PolicyChanges, PolicyFields, fields_in_force, fields_of
from curtsy.sources.source import Source


class SourceDescription(PolicyFields):
    """The full description of a source. Fields that are left out take the default of the settings;
    hosts that are left out stay as they are."""

    model_config = ConfigDict(json_schema_extra=examples.shown(examples.SOURCE_DESCRIBED))


class SourceChanges(PolicyChanges):
    """Changes of a source. Fields that are left out stay as they are; null restores the default of
    the settings."""

    model_config = ConfigDict(json_schema_extra=examples.shown(examples.SOURCE_CHANGED))


class PolicyInForce(PolicyFields):
    """The policy in force, with all defaults. Null: there is no such limit."""

    hosts: list[str] | None = None
    """Empty: all hosts have moved to other sources."""


class Resting(BaseModel):
    """A rest after failures of the host: no request for a while, then a single page as a probe."""

    because: str
    kind: str
    status: int | None = None
    """The HTTP status of the host's last answer."""
    announced: bool
    """Whether the host asked for the rest, for example by Retry-After."""
    failures: int
    """Consecutive failures, without those that the host announced."""
    until: str | None = None
    """Null: the rest is over, and one page is tried."""


class SourceShown(BaseModel):
    name: str
    hosts: list[str]
    """Hosts that share the budget of the source."""
    hosts_are_all: bool
    """False: the source has more hosts than `hosts` lists."""
    described: bool
    """Whether the source has a description; otherwise the defaults of the settings apply."""
    said: dict[str, Any]
    """The description, in the fields of `PUT`. Secrets are shown as ***."""
    policy: PolicyInForce
    paused: bool
    paused_by: str | None = None
    """A user, `anyone` where no key is required, or `policy`: the source is not enabled."""
    waiting: int
    waiting_is_capped: bool
    """True: more visits wait than `waiting`. One source is counted up to 10,000, sources of a long
    list up to a smaller number."""
    next_start_at: str | None = None
    """Null: at once, or never while the source is paused."""
    waits_for: str | None = None
    """The rule behind `next_start_at`: `delay`, `hourly_limit`, `closed_hours` or `rest`."""
    in_respectful_hours: bool
    crawl_delay_seconds: float | None = None
    """The crawl delay of its robots.txt."""
    resting: Resting | None = None
    used_this_hour: int | None = None
    """Requests in the last 60 minutes; null: there is no hourly limit."""
    utilisation: float | None = None
    """The used share of the hourly limit, from 0 to 1."""
    today: ReceiptDay
    """The requests to the source since midnight, UTC."""


class SourceList(BaseModel):
    sources: list[SourceShown]
    """Sorted by name."""
    limit: int
    next_cursor: str | None = None


class Forgotten(BaseModel):
    name: str
    message: str


def source_of(source: Source, now: int) -> SourceShown:
    row, limit, hours = source.row, source.policy.requests_per_hour, source.policy.hours
    next_at = source.next_start_at(now)
    return SourceShown(
        name=row.name, hosts=list(source.hosts), hosts_are_all=source.hosts_are_all,
        described=row.described, said=_description(source),
        policy=PolicyInForce.model_construct(**_in_force(source)),
        paused=row.paused, paused_by=row.paused_by,
        waiting=source.waiting, waiting_is_capped=source.waiting_is_capped,
        next_start_at=None if next_at is None else rfc3339(next_at),
        waits_for=source.waits_for(now),
        in_respectful_hours=hours is not None and hours.within(now),
        crawl_delay_seconds=source.crawl_delay / SECOND if source.crawl_delay else None,
        resting=_resting(source, now), used_this_hour=source.used,
        utilisation=None if source.used is None else round(source.used / limit, 3),
        today=summed([source.today] if source.today is not None else []),
    )  # fmt: skip


def _description(source: Source) -> dict[str, Any]:
    fields = fields_of(source.overrides).model_dump(exclude_none=True)
    return fields if source.is_enabled else fields | {"enabled": False}


def _in_force(source: Source) -> dict[str, Any]:
    fields = fields_in_force(source.policy)
    return dict(fields) | {"hosts": list(source.hosts), "enabled": source.is_enabled}


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
    announced = ", and said for how long" if why["announced"] else ""
    return f"{means}{status}{announced}"
