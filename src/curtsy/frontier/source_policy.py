"""Stores the description of a source: its hosts, its policy, and whether it is paused.

A host that changes its source takes its visits along. The new source may start no request before
the old one has finished: while a worker owns the old source, the new one waits for a whole lease.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from curtsy.fetch.proxy import AllowedProxies
from curtsy.frontier.host_moves import HOSTS, LOCK_DECLARATIONS, follow_hosts
from curtsy.model.domains import home_of
from curtsy.politeness.pace import as_stored
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Statement

DISABLED = "policy"
"""The value of `paused_by` for a source that its policy disables."""

_COLUMNS = """id, name, policy, paused, paused_by, described, described_as, owner, next_fetch_at,
              paced_at, pace, unreported"""
_INSERT = Statement(
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
_STORE_MOVED_AT = Statement(
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
    """None: the present hosts; for a new source, the host in its name."""
    enabled: bool = True
    as_in_file: str | None = None
    """The hash of the section of the declared file, if the description comes from there."""


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """Settings of the service that a change of a description needs."""

    defaults: Policy
    lease_ttl: int
    now: int
    allow_proxies: tuple[AllowedProxies, ...] = ()


class StoredSource(NamedTuple):
    """The columns of a source that descriptions use."""

    id: int
    name: str
    policy: str
    """JSON."""
    paused: bool
    paused_by: str | None
    described: bool
    described_as: str | None
    owner: str | None
    next_fetch_at: int | None
    paced_at: int | None
    pace: str | None
    """JSON."""
    unreported: bool

    @classmethod
    def of(cls, row: Any) -> "StoredSource":
        """SQLite returns integers for booleans."""
        return cls._make(row)._replace(
            paused=bool(row.paused), described=bool(row.described), unreported=bool(row.unreported)
        )


def describe(connection: Connection, wanted: Description, context: PolicyContext) -> None:
    """Stores the description of a source; creates the source if it does not exist."""
    before = source_named(connection, wanted.name)
    present = hosts_of(connection, before.id) if before is not None else {wanted.name}
    hosts = set(wanted.hosts) if wanted.hosts is not None else present
    homes = dict.fromkeys(hosts | _undescribed(connection, hosts), wanted.name)
    leaving = present - homes.keys() if before is not None else set()
    homes |= _homes(connection, (h for h in leaving if home_of(h) not in hosts))
    rows = _lock_sources(connection, homes, wanted.name, context)
    _store_policy(connection, rows[wanted.name], wanted, context)
    _store_hosts(connection, rows, homes, context)


def forget(connection: Connection, name: str, context: PolicyContext) -> bool:
    """Deletes the description of a source; its hosts are then as hosts that nobody described.
    Returns False if there is no such description."""
    source = source_named(connection, name)
    if source is None or not source.described:
        return False
    homes = _homes(connection, hosts_of(connection, source.id))
    rows = _lock_sources(connection, homes, name, context)
    _store_policy(connection, rows[name], Description(name, {}), context, described=False)
    _store_hosts(connection, rows, homes, context)
    return True


def pause(connection: Connection, source_id: int, *, by: str) -> None:
    """Lanes stop within a second; waiting visits stay."""
    _PAUSE(connection, id=source_id, by=by)


def resume(connection: Connection, source_id: int, *, now: int) -> None:
    """The source is ready from now on: the time before does not count as a wait for capacity."""
    _RESUME(connection, id=source_id, now=now)


def source_named(connection: Connection, name: str) -> StoredSource | None:
    """Returns the source; None: it does not exist. No other transaction describes sources until
    this one ends, so the row holds until all sources are locked at once and in their order."""
    LOCK_DECLARATIONS(connection)
    row = _NAMED(connection, wanted=[(name,)]).one_or_none()
    return StoredSource.of(row) if row is not None else None


def hosts_of(connection: Connection, source_id: int) -> set[str]:
    return {row.host for row in HOSTS(connection, wanted=[], sources=[(source_id,)])}


def _undescribed(connection: Connection, hosts: Collection[str]) -> set[str]:
    """Hosts within these domains that nobody described: they belong to the source of the domain."""
    domains = [host for host in hosts if host == home_of(host)]
    rows = _NAMED(connection, wanted=[(domain,) for domain in domains])
    ids = [(row.id,) for row in rows if not row.described]
    return {row.host for row in HOSTS(connection, wanted=[], sources=ids)}


def _homes(connection: Connection, hosts: Iterable[str]) -> dict[str, str]:
    """The name of the source of each host, as long as nobody describes the host."""
    homes = {host: home_of(host) for host in hosts}
    elsewhere = set(homes.values()) - homes.keys()
    rows = HOSTS(connection, wanted=[(home,) for home in elsewhere], sources=[])
    of_home = {row.host: row.name for row in rows}
    return {host: of_home.get(home, home) for host, home in homes.items()}


def _lock_sources(
    connection: Connection, homes: Mapping[str, str], name: str, context: PolicyContext
) -> dict[str, StoredSource]:
    """Locks the sources that hosts come from or go to, and creates missing ones; returns them by
    name. Waits for a submit that creates one of the hosts."""
    names = [(wanted,) for wanted in sorted({*homes.values(), name})]
    _INSERT(connection, wanted=names, delay_ms=context.defaults.min_delay, now=context.now)
    _ADD_HOSTS(connection, wanted=sorted(homes.items()), now=context.now)
    known = HOSTS(connection, wanted=[(host,) for host in homes], sources=[])
    rows = _LOCK(connection, wanted=names, known=[(i,) for i in {row.source_id for row in known}])
    return {row.name: StoredSource.of(row) for row in rows}


def _store_policy(
    connection: Connection, source: StoredSource, wanted: Description, context: PolicyContext,
    *, described: bool = True,
) -> None:  # fmt: skip
    policy = context.defaults.with_overrides(wanted.policy)
    next_fetch_at = _next_fetch_at(source, policy)
    by_policy = source.paused_by == DISABLED
    paused = not wanted.enabled or (source.paused and not by_policy)
    _DESCRIBE(
        connection, id=source.id, policy=orjson.dumps(dict(wanted.policy)).decode(),
        described=described, described_as=wanted.as_in_file, paused=paused,
        paused_by=DISABLED if not wanted.enabled else None if by_policy else source.paused_by,
        next_fetch_at=next_fetch_at, ready_at=max(next_fetch_at or 0, context.now),
    )  # fmt: skip


def _next_fetch_at(source: StoredSource, policy: Policy) -> int | None:
    """The next request under the new policy, for the next owner of the source."""
    if source.owner is not None or source.unreported:
        return source.next_fetch_at
    if source.paced_at is None or not source.pace:
        return None  # there was no request yet: only the old policy delayed the first one
    pace = orjson.loads(source.pace)
    return as_stored(policy, pace, paced_at=source.paced_at,
                     next_fetch_at=source.next_fetch_at).next_at  # fmt: skip


def _store_hosts(
    connection: Connection, sources: Mapping[str, StoredSource], homes: Mapping[str, str],
    context: PolicyContext,
) -> None:  # fmt: skip
    """Moves each host to its source, and its visits after it."""
    by_id = {source.id: source for source in sources.values()}
    before = {row.host: row.source_id for row in
              HOSTS(connection, wanted=[(host,) for host in homes], sources=[])}  # fmt: skip
    moves = {host: (before[host], sources[home].id) for host, home in sorted(homes.items())
             if before[host] != sources[home].id}  # fmt: skip
    if not moves:
        return
    _SET_HOSTS(connection, wanted=[(host, to) for host, (_from, to) in moves.items()])
    not_before: dict[int, int] = {}
    for came_from, to in moves.values():
        wait = _free_at(by_id[came_from], by_id[to], context)
        not_before[to] = max(not_before.get(to, 0), wait)
    old = sorted({came_from for came_from, _to in moves.values()})
    _STORE_MOVED_AT(connection, old=[(i,) for i in old], now=context.now)
    follow_hosts(connection, old, context.now, locked=by_id, not_before=not_before)


def _free_at(old: StoredSource, new: StoredSource, context: PolicyContext) -> int:
    """When the new source may request pages of the old one's hosts: no sooner than the old source
    could, and only after the owners of both have learnt of the move."""
    wait = old.next_fetch_at or 0
    is_owned = old.owner is not None or (wait > context.now and new.owner is not None)
    return max(wait, context.now + context.lease_ttl) if is_owned else wait
