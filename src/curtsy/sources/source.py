"""Reads, lists, describes, pauses and deletes sources."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from curtsy.clock import DAY
from curtsy.errors import BadRequest, NotFound, WrongState
from curtsy.fetch.guard import blocked_port
from curtsy.fetch.proxy import AllowedProxies, parse_proxy, refused_proxy
from curtsy.frontier.receipts import receipts_of
from curtsy.frontier.source_policy import (
    DISABLED,
    Description,
    PolicyContext,
    describe,
    forget,
    hosts_of,
    pause,
    resume,
    source_named,
)
from curtsy.logs import logger
from curtsy.politeness.last_hour import LastHour
from curtsy.politeness.pace import Rule, as_stored
from curtsy.politeness.policy import Policy
from curtsy.politeness.receipt import Receipt
from curtsy.references import reference_in
from curtsy.sources.login_fields import check_login
from curtsy.sources.policy_fields import PolicyFields, host_key, with_references
from curtsy.store import Connection, Statement

log = logger("sources")

NAME = re.compile(r"(?=.*[a-z0-9])([a-z0-9._-]{1,200}|[a-z0-9._:\[\]-]{1,253})")
WAITING_CAP = 10_000
WAITING_CAP_TOGETHER = 500_000
"""The cap for all sources of a listing together: in a long one each is counted less far."""
HOSTS_SHOWN = 1_000
HOSTS_SHOWN_TOGETHER = 10_000

_STORED_AS = {
    "min_delay_seconds": "min_delay",
    "max_delay_seconds": "max_delay",
    "respectful_hours": "hours",
    "crawl_delay_cap_seconds": "crawl_delay_cap",
}
"""Policy fields whose stored name differs."""
_COLUMNS = """s.id, s.name, s.policy, s.paused, s.paused_by, s.described, s.next_fetch_at, s.pace,
    s.paced_at, s.fail_streak"""
_ALL = Statement(
    f"""
    SELECT {_COLUMNS} FROM sources s WHERE s.name > :after AND (s.described OR
        (SELECT h.source_id FROM hosts h WHERE h.source_id = s.id LIMIT 1) IS NOT NULL)
    ORDER BY s.name LIMIT :most
    """  # noqa: S608
)
_DESCRIBED = Statement(
    f"""
    SELECT {_COLUMNS} FROM sources s WHERE s.name > :after AND s.described
    ORDER BY s.name LIMIT :most
    """  # noqa: S608
)
_ONE = Statement(
    f"""
    SELECT {_COLUMNS} FROM sources s WHERE s.name = :name AND (s.described OR
        (SELECT h.source_id FROM hosts h WHERE h.source_id = s.id LIMIT 1) IS NOT NULL)
    """  # noqa: S608
)
_HAS_HOSTS = Statement("SELECT 1 FROM hosts WHERE source_id = :id LIMIT 1")
_HOSTS = Statement(
    """
    SELECT source_id, host FROM (
        SELECT h.source_id, h.host,
               row_number() OVER (PARTITION BY h.source_id ORDER BY h.host) AS n
        FROM {wanted} JOIN hosts h ON h.source_id = wanted.id) AS known
    WHERE n <= :most ORDER BY source_id, host
    """,
    wanted={"id": "bigint"},
)
_WAITING = Statement(  # in halves, one for each index
    """
    SELECT wanted.id,
        (SELECT count(*) FROM (SELECT 1 AS one FROM visits v WHERE v.source_id = wanted.id
                               AND v.due_at IS NULL LIMIT :most) AS ready)
      + (SELECT count(*) FROM (SELECT 1 AS one FROM visits v WHERE v.source_id = wanted.id
                               AND v.due_at IS NOT NULL LIMIT :most) AS later) AS waiting
    FROM {wanted}
    """,
    wanted={"id": "bigint"},
)


class SourceRow(NamedTuple):
    id: int
    name: str
    policy: str
    paused: bool
    paused_by: str | None
    described: bool
    next_fetch_at: int | None
    pace: str | None
    paced_at: int | None
    fail_streak: int


@dataclass(frozen=True, slots=True)
class Source:
    """A source, its policy and its current state."""

    row: SourceRow
    policy: Policy
    """Includes the defaults."""
    overrides: Mapping[str, Any]
    """What its description sets."""
    hosts: Sequence[str]
    hosts_are_all: bool
    waiting: int
    """Visits, counted up to ten thousand; in a long listing, less far."""
    waiting_is_capped: bool
    used: int | None
    """Requests in the last hour; None: there is no hourly limit."""
    today: Receipt | None

    @property
    def stored_pace(self) -> dict[str, Any]:
        return orjson.loads(self.row.pace) if self.row.pace else {}

    @property
    def is_enabled(self) -> bool:
        return self.row.paused_by != DISABLED

    @property
    def crawl_delay(self) -> int:
        """The Crawl-delay of its hosts' robots.txt, up to the cap; 0 if the policy ignores it."""
        asked_for = int(self.stored_pace.get("crawl", 0))
        return min(asked_for, self.policy.crawl_delay_cap) if self.policy.robots else 0

    def rests_until(self, now: int) -> int | None:
        """When a rest after a failure ends; None: the source does not rest."""
        stored = self.stored_pace
        if self.row.paced_at is None or "why" not in stored:
            return None
        until: int = self.row.paced_at + stored.get("rest", 0)
        return until if until > now else None

    def next_start_at(self, now: int) -> int | None:
        """No request starts before this; None: one may start now, or the source is paused."""
        if self.row.paused:
            return None
        at = max(now, self.row.next_fetch_at or 0)
        if self.policy.hours is not None:
            at = self.policy.hours.opens_at(at)
        return at if at > now else None

    def waits_for(self, now: int) -> Rule | None:
        """The rule that lets no request start before `next_start_at`; None: a request may start, or
        the source is paused."""
        if self.next_start_at(now) is None:
            return None
        row = self.row
        pace = as_stored(self.policy, self.stored_pace, paced_at=row.paced_at,
                         next_fetch_at=row.next_fetch_at)  # fmt: skip
        waits = pace.waits(now)
        longest: Rule = max(waits, key=waits.__getitem__) if waits else "rest"
        return longest


def list_sources(
    connection: Connection, defaults: Policy, *, after: str, most: int, described: bool, now: int
) -> list[Source]:
    statement = _DESCRIBED if described else _ALL
    rows = [_row(row) for row in statement(connection, after=after, most=most)]
    return _with_details(connection, rows, defaults, now)


def source(connection: Connection, name: str, defaults: Policy, *, now: int) -> Source:
    row = _ONE(connection, name=name).one_or_none()
    if row is None:
        raise NotFound("source", name[:200])
    return _with_details(connection, [_row(row)], defaults, now)[0]


def put_source(
    connection: Connection,
    name: str,
    fields: PolicyFields,
    context: PolicyContext,
    *,
    as_in_file: str | None = None,
) -> bool:
    """Replaces the whole description of the source; returns whether the source is new. `as_in_file`
    is the hash of its section in the sources file; without one, the last hash stays, so that the
    file does not apply an unchanged section again."""
    check_name(name, fields.hosts)
    row = _find(connection, name)
    if row is None:
        check_hosts(name, fields.hosts)
    overrides = fields.overrides()
    if as_in_file is not None:
        overrides = with_references(overrides)
    check_policy(context.defaults.with_overrides(overrides))
    check_proxies(fields, context.allow_proxies)
    hosts = fields.hosts or (hosts_of(connection, row.id) if row is not None else ())
    check_login(overrides.get("login"), name, hosts)
    enabled = fields.enabled is not False
    hashed = as_in_file or (row.described_as if row is not None else None)
    describe(connection, Description(name, overrides, fields.hosts, enabled, hashed), context)
    return row is None


def patch_source(
    connection: Connection, name: str, fields: PolicyFields, context: PolicyContext
) -> None:
    """Changes the fields that are set (null: to the default) and leaves the others. Stored headers
    are secrets of whoever set them: a change of where they would go deletes them, unless the change
    sets headers too. So is a login; it goes to its own URL, whatever the hosts."""
    row = _require(connection, name)
    given = fields.overrides()
    cleared = {_STORED_AS.get(field, field) for field in fields.model_fields_set} - given.keys()
    before = orjson.loads(row.policy)
    policy = {k: v for k, v in before.items() if k not in cleared} | given
    check_policy(context.defaults.with_overrides(policy))
    check_proxies(fields, context.allow_proxies)
    known = hosts_of(connection, row.id)
    new_hosts = set(fields.hosts or ()) - known
    through_another = any(policy.get(name) != before.get(name) for name in ("proxy", "proxies"))
    if (new_hosts or through_another) and "headers" not in given and policy.pop("headers", None):
        log.info("source_headers_deleted", source=name)
    if through_another and "login" not in given and policy.pop("login", None):
        log.info("source_login_deleted", source=name)
    check_login(policy.get("login"), name, fields.hosts or known)
    enabled = row.paused_by != DISABLED if fields.enabled is None else fields.enabled
    check_name(name, fields.hosts)
    wanted = Description(name, policy, fields.hosts, enabled, row.described_as)
    describe(connection, wanted, context)


def delete_source(connection: Connection, name: str, context: PolicyContext) -> None:
    """Deletes the description of the source; its hosts follow the settings again."""
    if not forget(connection, name, context):
        raise NotFound("described source", name[:200])


def pause_source(connection: Connection, name: str, *, by: str) -> None:
    row = _require(connection, name)
    if row.paused:
        raise WrongState(name, "paused already", "paused again")
    # A user may be named like the marker for disabled sources.
    pause(connection, row.id, by=f"user {by}" if by == DISABLED else by)


def resume_source(connection: Connection, name: str, *, now: int) -> None:
    row = _require(connection, name)
    if not row.paused:
        raise WrongState(name, "not paused", "resumed")
    if row.paused_by == DISABLED:
        raise WrongState(name, "disabled by its policy (enabled = false)", "resumed")
    resume(connection, row.id, now=now)


def check_name(name: str, hosts: Sequence[str] | None) -> None:
    """Raises BadRequest for an invalid name, or for the name of a host that the source lacks."""
    if not NAME.fullmatch(name):
        raise BadRequest(
            [f"{name[:100]!r} is not a valid source name: use a-z, 0-9, '.', '_' and '-'."]
        )
    if hosts is None or "." not in name:
        return
    try:
        named_after = host_key(name)
    except ValueError:
        return
    if named_after not in hosts:
        raise BadRequest(
            [f"{name} is the name of a host that is not in hosts: add it, or choose another name."]
        )


def check_hosts(name: str, hosts: Sequence[str] | None) -> None:
    """Raises BadRequest for a new source that neither lists hosts nor is named after one."""
    if hosts is None and not re.search(r"[.:]", name):
        raise BadRequest([f"{name} is not the name of a host, so list its hosts (hosts)."])


def check_policy(policy: Policy) -> None:
    """Raises BadRequest for fields that contradict each other once the defaults are filled in."""
    if 0 < policy.max_delay < policy.min_delay:
        raise BadRequest(["max_delay_seconds is below min_delay_seconds."])
    if policy.burst_limit > max(1, policy.requests_per_hour):
        raise BadRequest(["burst_limit needs a requests_per_hour that is at least as large."])


def check_proxies(fields: PolicyFields, allow_proxies: tuple[AllowedProxies, ...]) -> None:
    for text in (fields.proxy, *(fields.proxies or ())):
        _check_proxy(text, allow_proxies)


def _check_proxy(text: str | None, allow_proxies: tuple[AllowedProxies, ...]) -> None:
    """Raises BadRequest for a proxy that may not be used, as far as its name alone shows. What a
    reference stands for is judged when the proxy is used."""
    if text is None or reference_in(text) is not None:
        return
    proxy = parse_proxy(text)
    if means := refused_proxy(proxy, allow_proxies):
        problem = f"The proxy {proxy} is {means}"
        hint = "" if blocked_port(str(proxy)) else ": ALLOW_PROXIES does not name it"
        raise BadRequest([f"{problem}{hint}."])


def _find(connection: Connection, name: str) -> Any:
    """The row of the source; no other transaction describes sources until this one ends. None also
    for a source whose description was deleted and that has no hosts."""
    row = source_named(connection, name)
    if row is None or row.described or _HAS_HOSTS(connection, id=row.id).first():
        return row
    return None


def _require(connection: Connection, name: str) -> Any:
    row = _find(connection, name)
    if row is None:
        raise NotFound("source", name[:200])
    return row


def _row(row: Any) -> SourceRow:
    return SourceRow._make(row)._replace(paused=bool(row.paused), described=bool(row.described))


def _with_details(
    connection: Connection, rows: Sequence[SourceRow], defaults: Policy, now: int
) -> list[Source]:
    wanted = [(row.id,) for row in rows]
    if not wanted:
        return []
    most_hosts = min(HOSTS_SHOWN, max(10, HOSTS_SHOWN_TOGETHER // len(rows)))
    hosts: dict[int, list[str]] = {row.id: [] for row in rows}
    for source_id, host in _HOSTS(connection, wanted=wanted, most=most_hosts + 1):
        hosts[source_id].append(host)
    cap = min(WAITING_CAP, WAITING_CAP_TOGETHER // len(rows))
    waiting = {row.id: row.waiting for row in
               _WAITING(connection, wanted=wanted, most=cap + 1)}  # fmt: skip
    today = receipts_of(connection, wanted, day=now // DAY)
    sources = []
    for row in rows:
        overrides = orjson.loads(row.policy)
        found = Source(
            row=row, policy=defaults.with_overrides(overrides), overrides=overrides,
            hosts=hosts[row.id][:most_hosts], hosts_are_all=len(hosts[row.id]) <= most_hosts,
            waiting=min(cap, waiting[row.id]), waiting_is_capped=waiting[row.id] > cap,
            used=None, today=today.get(row.id),
        )  # fmt: skip
        sources.append(replace(found, used=_used(found.row, found.policy, now)))
    return sources


class HourlyUse(NamedTuple):
    """The requests of a described source in the last hour, beside its limit."""

    name: str
    used: int
    allowed: int


def hourly_uses(
    connection: Connection, defaults: Policy, *, most: int, now: int
) -> list[HourlyUse]:
    """The described sources that have an hourly limit, the most used first, of the first by
    name."""
    uses = []
    for row in map(_row, _DESCRIBED(connection, after="", most=most)):
        policy = defaults.with_overrides(orjson.loads(row.policy))
        if (used := _used(row, policy, now)) is not None:
            uses.append(HourlyUse(row.name, used, policy.requests_per_hour))
    return sorted(uses, key=lambda use: (-use.used / use.allowed, use.name))


def _used(row: SourceRow, policy: Policy, now: int) -> int | None:
    if not policy.requests_per_hour:
        return None
    stored = orjson.loads(row.pace) if row.pace else {}
    hour = LastHour.since(row.paced_at or 0, stored.get("hour", ()))
    hour.forget(now)
    return hour.total
