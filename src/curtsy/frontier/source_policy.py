"""Somebody says what a source is: its hosts, its policy, whether it is to stand still.

A host that changes its source takes its visits along. The new source may not ask before the old
one has let go: while a worker holds that, a whole lease is waited out.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from curtsy.frontier.host_moves import ALONE, HOSTS, follow_hosts
from curtsy.model.domains import home_of
from curtsy.politeness.pace import as_stored
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Statement

_COLUMNS = """id, name, policy, paused, paused_by, described, described_as, owner, next_fetch_at,
              paced_at, pace, unreported"""
_MAKE = Statement(
    """
    INSERT INTO sources (name, delay_ms, created_at) SELECT name, :delay_ms, :now FROM {wanted}
    WHERE true ORDER BY name ON CONFLICT (name) DO NOTHING
    """,
    wanted={"name": "text"},
)
_NAMED = Statement(
    f"SELECT {_COLUMNS} FROM sources WHERE name IN (SELECT name FROM {{wanted}})",  # noqa: S608
    wanted={"name": "text"},
)
_LOCK = Statement(
    f"SELECT {_COLUMNS} FROM sources WHERE name IN (SELECT name FROM {{wanted}}) "  # noqa: S608
    "OR id IN (SELECT id FROM {known}) ORDER BY id {lock}",
    wanted={"name": "text"},
    known={"id": "bigint"},
)
_ADD_HOSTS = Statement(
    """
    INSERT INTO hosts (host, source_id, created_at)
    SELECT wanted.host, s.id, :now FROM {wanted} JOIN sources s ON s.name = wanted.home
    WHERE true ORDER BY wanted.host ON CONFLICT (host) DO NOTHING
    """,
    wanted={"host": "text", "home": "text"},
)
_SET_HOSTS = Statement(
    """
    UPDATE hosts SET source_id = w.source_id FROM (SELECT * FROM {wanted}) w
    WHERE hosts.host = w.host
    """,
    wanted={"host": "text", "source_id": "bigint"},
)
_DESCRIBE = Statement(
    """
    UPDATE sources SET policy = :policy, described = :described, described_as = :described_as,
        paused = :paused, paused_by = :paused_by, control_version = control_version + 1,
        next_fetch_at = :next_fetch_at,
        ready_at = CASE WHEN ready_at IS NULL THEN NULL
                        ELSE CAST(:ready_at AS bigint) END
    WHERE id = :id
    """
)
_MOVED_LATELY = Statement(
    "UPDATE sources SET hosts_moved_at = :now WHERE id IN (SELECT id FROM {old})",
    old={"id": "bigint"},
)
_PAUSE = Statement(
    """
    UPDATE sources SET paused = true, paused_by = :by, control_version = control_version + 1
    WHERE id = :id
    """
)
_RESUME = Statement(
    """
    UPDATE sources SET paused = false, paused_by = NULL, control_version = control_version + 1,
        ready_at = CASE WHEN ready_at < :now THEN CAST(:now AS bigint) ELSE ready_at END
    WHERE id = :id
    """
)


@dataclass(frozen=True, slots=True)
class Description:
    name: str
    policy: Mapping[str, Any]
    hosts: Collection[str] | None = None
    """None: as they are; of a new source, the one that it is named after."""
    enabled: bool = True
    as_in_file: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """What describing needs to know of the service."""

    defaults: Policy
    lease_ttl: int
    now: int


DISABLED = "policy"
"""Who paused a source that is not enabled."""


def describe(connection: Connection, wanted: Description, around: PolicyContext) -> None:
    """The source is so from now on; it is made where there is none."""
    before = source_named(connection, wanted.name)
    has = _hosts_of(connection, before.id) if before is not None else {wanted.name}
    hosts = set(wanted.hosts) if wanted.hosts is not None else has
    homes = dict.fromkeys(hosts | _undescribed(connection, hosts), wanted.name)
    leaving = has - homes.keys() if before is not None else set()
    homes |= _homes(connection, (h for h in leaving if home_of(h) not in hosts))
    rows = _locked(connection, homes, wanted.name, around)
    _settle_policy(connection, rows[wanted.name], wanted, around)
    _settle_hosts(connection, rows, homes, around)


def forget(connection: Connection, name: str, around: PolicyContext) -> bool:
    """Its hosts are as nobody described them. False: there is no such description."""
    source = source_named(connection, name)
    if source is None or not source.described:
        return False
    homes = _homes(connection, _hosts_of(connection, source.id))
    rows = _locked(connection, homes, name, around)
    _settle_policy(connection, rows[name], Description(name, {}), around, described=False)
    _settle_hosts(connection, rows, homes, around)
    return True


def pause(connection: Connection, source_id: int, *, by: str) -> None:
    """Lanes hear of it within a second; what waits stays where it is."""
    _PAUSE(connection, id=source_id, by=by)


def resume(connection: Connection, source_id: int, *, now: int) -> None:
    """It is ready from now on: until then no worker was missing."""
    _RESUME(connection, id=source_id, now=now)


def source_named(connection: Connection, name: str) -> Any:
    """Its row; None: there is none. Nobody else describes any until the transaction ends, so what
    is read here holds until the sources are locked, all at once and in their order."""
    ALONE(connection)
    return _NAMED(connection, wanted=[(name,)]).one_or_none()


def _hosts_of(connection: Connection, source_id: int) -> set[str]:
    return {row.host for row in HOSTS(connection, wanted=[], sources=[(source_id,)])}


def _undescribed(connection: Connection, hosts: Collection[str]) -> set[str]:
    """Names within these domains that nobody described: they share what the domain has."""
    domains = [host for host in hosts if host == home_of(host)]
    rows = _NAMED(connection, wanted=[(domain,) for domain in domains])
    ids = [(row.id,) for row in rows if not row.described]
    return {row.host for row in HOSTS(connection, wanted=[], sources=ids)}


def _homes(connection: Connection, hosts: Iterable[str]) -> dict[str, str]:
    """Where each of them belongs as long as nobody describes it."""
    homes = {host: home_of(host) for host in hosts}
    elsewhere = set(homes.values()) - homes.keys()
    rows = HOSTS(connection, wanted=[(home,) for home in elsewhere], sources=[])
    of_home = {row.host: row.name for row in rows}
    return {host: of_home.get(home, home) for host, home in homes.items()}


def _locked(
    connection: Connection, homes: Mapping[str, str], name: str, around: PolicyContext
) -> dict[str, Any]:
    """By name: the sources that hosts come from or go to, made where they are missing. A host
    that a submit makes in the same moment is waited for."""
    names = [(one,) for one in sorted({*homes.values(), name})]
    _MAKE(connection, wanted=names, delay_ms=around.defaults.min_delay, now=around.now)
    _ADD_HOSTS(connection, wanted=sorted(homes.items()), now=around.now)
    known = HOSTS(connection, wanted=[(host,) for host in homes], sources=[])
    rows = _LOCK(connection, wanted=names, known=[(i,) for i in {row.source_id for row in known}])
    return {row.name: row for row in rows}


def _settle_policy(
    connection: Connection, source: Any, wanted: Description, around: PolicyContext,
    *, described: bool = True,
) -> None:  # fmt: skip
    policy = around.defaults.with_overrides(wanted.policy)
    next_fetch_at = _next_fetch_at(source, policy)
    by_policy = source.paused_by == DISABLED
    paused = not wanted.enabled or (bool(source.paused) and not by_policy)
    _DESCRIBE(
        connection, id=source.id, policy=orjson.dumps(dict(wanted.policy)).decode(),
        described=described, described_as=wanted.as_in_file, paused=paused,
        paused_by=DISABLED if not wanted.enabled else None if by_policy else source.paused_by,
        next_fetch_at=next_fetch_at, ready_at=max(next_fetch_at or 0, around.now),
    )  # fmt: skip


def _next_fetch_at(source: Any, policy: Policy) -> int | None:
    """As the new policy has it, for whoever has the source next."""
    if source.owner is not None or source.unreported:
        return int(source.next_fetch_at) if source.next_fetch_at is not None else None
    if source.paced_at is None or not source.pace:
        return None  # it was never asked: whatever held it back was the old policy
    kept = orjson.loads(source.pace)
    return as_stored(policy, kept, paced_at=source.paced_at,
                     next_fetch_at=source.next_fetch_at).next_at  # fmt: skip


def _settle_hosts(
    connection: Connection, rows: Mapping[str, Any], homes: Mapping[str, str],
    around: PolicyContext,
) -> None:  # fmt: skip
    """Each host to its source, and its visits after it."""
    by_id = {row.id: row for row in rows.values()}
    before = {row.host: row.source_id for row in
              HOSTS(connection, wanted=[(host,) for host in homes], sources=[])}  # fmt: skip
    moves = {host: (before[host], rows[home].id) for host, home in sorted(homes.items())
             if before[host] != rows[home].id}  # fmt: skip
    if not moves:
        return
    _SET_HOSTS(connection, wanted=[(host, to) for host, (_from, to) in moves.items()])
    not_before: dict[int, int] = {}
    for came_from, to in moves.values():
        wait = _let_go_at(by_id[came_from], by_id[to], around)
        not_before[to] = max(not_before.get(to, 0), wait)
    old = sorted({came_from for came_from, _to in moves.values()})
    _MOVED_LATELY(connection, old=[(i,) for i in old], now=around.now)
    follow_hosts(connection, old, around.now, held=by_id, not_before=not_before)


def _let_go_at(old: Any, new: Any, around: PolicyContext) -> int:
    """When the new source may ask what was the old one's: no sooner than that might have, and
    when those who hold either have heard of it."""
    wait = int(old.next_fetch_at or 0)
    is_held = old.owner is not None or (wait > around.now and new.owner is not None)
    return max(wait, around.now + around.lease_ttl) if is_held else wait
