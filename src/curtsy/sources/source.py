"""Sources as people see them: described, listed, paused, forgotten."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from curtsy.clock import DAY
from curtsy.errors import BadRequest, NotFound, WrongState
from curtsy.frontier.receipts import receipts_of
from curtsy.frontier.source_policy import (
    DISABLED,
    Description,
    PolicyContext,
    describe,
    forget,
    pause,
    resume,
    source_named,
)
from curtsy.politeness.last_hour import LastHour
from curtsy.politeness.policy import Policy
from curtsy.politeness.receipt import Receipt
from curtsy.sources.policy_fields import PolicyFields, host_key
from curtsy.store import Connection, Statement

NAME = re.compile(r"(?=.*[a-z0-9])([a-z0-9._-]{1,200}|[a-z0-9._:\[\]-]{1,253})")
WAITING_CAP = 10_000
WAITING_CAP_TOGETHER = 500_000
"""Of many sources at once, each is counted less far."""
HOSTS_SHOWN = 1_000
HOSTS_SHOWN_TOGETHER = 10_000

_COLUMNS = """s.id, s.name, s.policy, s.paused, s.paused_by, s.described, s.described_as, s.band,
    s.ready_at, s.owner, s.next_fetch_at, s.pace, s.paced_at, s.fail_streak, s.failing_since,
    s.crash_streak, s.created_at"""
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
_WAITING = Statement(  # in halves, as the indexes have them
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


@dataclass(frozen=True, slots=True)
class Source:
    """A source, its policy, and how it stands."""

    row: Any
    policy: Policy
    """With the defaults."""
    overrides: Mapping[str, Any]
    """What was said of it."""
    hosts: Sequence[str]
    hosts_are_all: bool
    waiting: int
    """Visits, counted to ten thousand; of many sources at once, less far."""
    waiting_is_capped: bool
    used: int | None
    """Requests in the last hour, where they are limited."""
    today: Receipt | None

    @property
    def kept(self) -> dict[str, Any]:
        """What the pacer remembers."""
        return orjson.loads(self.row.pace) if self.row.pace else {}

    @property
    def is_enabled(self) -> bool:
        return bool(self.row.paused_by != DISABLED)

    @property
    def crawl_delay(self) -> int:
        """What a robots.txt of its hosts asks for, within the cap, where it is obeyed."""
        asked = int(self.kept.get("crawl", 0))
        return min(asked, self.policy.crawl_delay_cap) if self.policy.robots else 0

    def rests_until(self, now: int) -> int | None:
        """After trouble with the host; None: not now."""
        if self.row.paced_at is None or "why" not in self.kept:
            return None
        until: int = self.row.paced_at + self.kept.get("rest", 0)
        return until if until > now else None

    def next_start_at(self, now: int) -> int | None:
        """Before this no request may start; None: now, or never while it is paused."""
        if self.row.paused:
            return None
        at = max(now, self.row.next_fetch_at or 0)
        if self.policy.hours is not None:
            at = self.policy.hours.opens_at(at)
        return at if at > now else None


def list_sources(
    connection: Connection, defaults: Policy, *, after: str, most: int, described: bool, now: int
) -> list[Source]:
    rows = list((_DESCRIBED if described else _ALL)(connection, after=after, most=most))
    return _whole(connection, rows, defaults, now)


def source(connection: Connection, name: str, defaults: Policy, *, now: int) -> Source:
    row = _ONE(connection, name=name).one_or_none()
    if row is None:
        raise NotFound("source", name[:200])
    return _whole(connection, [row], defaults, now)[0]


def put_source(
    connection: Connection,
    name: str,
    words: PolicyFields,
    around: PolicyContext,
    *,
    as_in_file: str | None = None,
) -> bool:
    """The source is described by these words, and by nothing that was said before. False: it was
    there. What the file of sources said last is remembered, so that it is not said again."""
    check_name(name, words.hosts)
    row = _held(connection, name)
    if row is None:
        check_hosts(name, words.hosts)
    overrides = words.overrides()
    check_whole(around.defaults.with_overrides(overrides))
    enabled = words.enabled is not False
    as_said = as_in_file or (row.described_as if row is not None else None)
    describe(connection, Description(name, overrides, words.hosts, enabled, as_said), around)
    return row is None


def patch_source(
    connection: Connection, name: str, words: PolicyFields, around: PolicyContext
) -> None:
    """What the words name is changed (to the default, where they say null), the rest stays."""
    row = _held(connection, name)
    if row is None:
        raise NotFound("source", name[:200])
    given = words.overrides()
    cleared = _names_of(words.model_fields_set) - given.keys()
    kept = {k: v for k, v in orjson.loads(row.policy).items() if k not in cleared} | given
    check_whole(around.defaults.with_overrides(kept))
    enabled = row.paused_by != DISABLED if words.enabled is None else words.enabled
    check_name(name, words.hosts)
    wanted = Description(name, kept, words.hosts, enabled, row.described_as)
    describe(connection, wanted, around)


def delete_source(connection: Connection, name: str, around: PolicyContext) -> None:
    if not forget(connection, name, around):
        raise NotFound("described source", name[:200])


def pause_source(connection: Connection, name: str, *, by: str) -> None:
    row = _known(connection, name)
    if row.paused:
        raise WrongState(name, "paused already", "paused again")
    # a user whose name means something else here
    pause(connection, row.id, by=f"user {by}" if by == DISABLED else by)


def resume_source(connection: Connection, name: str, *, now: int) -> None:
    row = _known(connection, name)
    if not row.paused:
        raise WrongState(name, "not paused", "resumed")
    if row.paused_by == DISABLED:
        raise WrongState(name, "disabled by its policy (enabled = false)", "resumed")
    resume(connection, row.id, now=now)


def check_name(name: str, hosts: Sequence[str] | None) -> None:
    if not NAME.fullmatch(name):
        raise BadRequest([f"{name[:100]!r} is no name for a source: use a-z, 0-9, '.', '_', '-'."])
    if hosts is None or "." not in name:
        return
    try:
        named_after = host_key(name)
    except ValueError:
        return
    if named_after not in hosts:
        raise BadRequest(
            [f"{name} is a host, but not among those of the source: name it otherwise."]
        )


def check_hosts(name: str, hosts: Sequence[str] | None) -> None:
    """A new source has hosts: those that are said, or the one that it is named after."""
    if hosts is None and not re.search(r"[.:]", name):
        raise BadRequest([f"{name} is no host's name, so say which hosts it has (hosts)."])


def _held(connection: Connection, name: str) -> Any:
    """Its row, until the transaction ends. One that lost all hosts when it was forgotten is as
    good as none."""
    row = source_named(connection, name)
    if row is None or row.described or _HAS_HOSTS(connection, id=row.id).first():
        return row
    return None


def _known(connection: Connection, name: str) -> Any:
    row = _held(connection, name)
    if row is None:
        raise NotFound("source", name[:200])
    return row


_KEPT_AS = {
    "min_delay_seconds": "min_delay",
    "max_delay_seconds": "max_delay",
    "respectful_hours": "hours",
    "crawl_delay_cap_seconds": "crawl_delay_cap",
}


def _names_of(words: set[str]) -> set[str]:
    return {_KEPT_AS.get(word, word) for word in words}


def check_whole(policy: Policy) -> None:
    """What was said piece by piece must make sense together."""
    if 0 < policy.max_delay < policy.min_delay:
        raise BadRequest(["max_delay_seconds is below min_delay_seconds."])
    if policy.burst_limit > max(1, policy.requests_per_hour):
        raise BadRequest(["burst_limit needs a requests_per_hour that is no smaller."])


def _whole(connection: Connection, rows: Sequence[Any], defaults: Policy, now: int) -> list[Source]:
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
    made = []
    for row in rows:
        overrides = orjson.loads(row.policy)
        found = Source(
            row=row, policy=defaults.with_overrides(overrides), overrides=overrides,
            hosts=hosts[row.id][:most_hosts], hosts_are_all=len(hosts[row.id]) <= most_hosts,
            waiting=min(cap, waiting[row.id]), waiting_is_capped=waiting[row.id] > cap,
            used=None, today=today.get(row.id),
        )  # fmt: skip
        made.append(replace(found, used=_used(found, now)))
    return made


def _used(found: Source, now: int) -> int | None:
    if not found.policy.requests_per_hour:
        return None
    hour = LastHour.since(found.row.paced_at or 0, found.kept.get("hour", ()))
    hour.forget(now)
    return hour.total
