"""Finds and creates hosts and their sources, and wakes sources when work arrives."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson

from curtsy.frontier.ranks import VirtualTimes, virtual_times
from curtsy.model.domains import home_of
from curtsy.store import Call, Connection, Result, Statement

_HOST = {"host": "text"}

_KNOWN = Statement(
    "SELECT h.host, h.source_id FROM {wanted} JOIN hosts h ON h.host = wanted.host", wanted=_HOST
)
_STANDING = Statement(
    """
    SELECT h.host, h.source_id, s.ranks, s.ready_at IS NULL OR s.band > wanted.band
        OR s.ready_at > {greatest}(:now, coalesce(s.next_fetch_at, 0)) AS changes
    FROM {wanted} JOIN hosts h ON h.host = wanted.host JOIN sources s ON s.id = h.source_id
    """,
    wanted={"host": "text", "band": "smallint"},
)
_NAMED = Statement(
    "SELECT s.id, s.name FROM {wanted} JOIN sources s ON s.name = wanted.name",
    wanted={"name": "text"},
)
_INSERT_SOURCES = Statement(
    """
    INSERT INTO sources (name, delay_ms, band, ready_at, created_at)
    SELECT name, :delay_ms, band, :now, :now FROM {wanted}
    WHERE NOT EXISTS (SELECT 1 FROM hosts h WHERE h.host = wanted.name) ORDER BY name
    ON CONFLICT (name) DO NOTHING RETURNING id, name
    """,
    wanted={"name": "text", "band": "smallint"},
)
_INSERT_HOSTS = Statement(
    """
    INSERT INTO hosts (host, source_id, created_at)
    SELECT wanted.host, coalesce(h.source_id, s.id), :now FROM {wanted}
    LEFT JOIN hosts h ON h.host = wanted.home
    LEFT JOIN sources s ON s.name = wanted.home
    WHERE coalesce(h.source_id, s.id) IS NOT NULL ORDER BY wanted.host
    ON CONFLICT (host) DO NOTHING RETURNING host, source_id
    """,
    wanted={"host": "text", "home": "text"},
)
_LOCK_CHANGED = Statement(
    """
    SELECT id FROM sources WHERE id IN (
        SELECT s.id FROM {wanted} JOIN sources s ON s.id = wanted.id
        WHERE s.ready_at IS NULL OR s.band > wanted.band
           OR s.ready_at > {greatest}(:now, coalesce(s.next_fetch_at, 0)))
    ORDER BY id {lock}
    """,
    wanted={"id": "bigint", "band": "smallint"},
)
_LOCK = Statement(
    "SELECT id FROM sources WHERE id IN (SELECT id FROM {wanted}) ORDER BY id {lock}",
    wanted={"id": "bigint"},
)
_SET_READY = Statement(
    """
    UPDATE sources SET
        band = CASE WHEN ready_at IS NULL THEN w.band ELSE {least}(sources.band, w.band) END,
        ready_at = {least}(coalesce(ready_at, :now + 86400000),
                           {greatest}(:now, coalesce(next_fetch_at, 0))),
        looks = 0
    FROM (SELECT id, band FROM {wanted}) w
    WHERE sources.id = w.id
      AND (ready_at IS NULL OR sources.band > w.band
           OR ready_at > {greatest}(:now, coalesce(next_fetch_at, 0)))
    """,
    wanted={"id": "bigint", "band": "smallint"},
)


def known_hosts(connection: Connection, hosts: Iterable[str]) -> dict[str, int]:
    """The source id of each known host."""
    rows = _KNOWN(connection, wanted=[(host,) for host in hosts])
    return {row.host: row.source_id for row in rows}


def expected_sources(connection: Connection, hosts: Iterable[str]) -> dict[str, int]:
    """The source id of each host that has a source, or that would get an existing source: that of
    its home, or the one with the name of its home."""
    homes = {host: home_of(host) for host in hosts}
    known = known_hosts(connection, {*homes, *homes.values()})
    rest = {home for host, home in homes.items() if host not in known and home not in known}
    named = {row.name: row.id for row in _NAMED(connection, wanted=[(name,) for name in rest])}
    found = {host: known.get(host, known.get(home, named.get(home)))
             for host, home in homes.items()}  # fmt: skip
    return {host: source_id for host, source_id in found.items() if source_id is not None}


@dataclass(frozen=True, slots=True)
class Sources:
    by_host: dict[str, int]
    to_wake: Mapping[int, int]
    """The band of the work, by source, of sources that are not ready for it."""
    virtual_times: VirtualTimes


def standing_call(bands: Mapping[str, int], *, now: int) -> Call:
    """Returns the call that reads the known sources of the hosts, for `together`; `sources_for`
    takes its result."""
    return _STANDING, {"wanted": list(bands.items()), "now": now}


def sources_for(
    connection: Connection, bands: Mapping[str, int], *, delay_ms: int, now: int,
    standing: Result | None = None,
) -> Sources:  # fmt: skip
    """The source of each host (`bands`: the band of its work by host); creates missing ones.
    `standing` is the result of `standing_call`; None: it was not read before.

    A host that nobody described belongs to the source of its home. If another transaction creates
    the same source or host, this one waits for its commit and uses that row.
    """
    if standing is None:
        statement, values = standing_call(bands, now=now)
        standing = statement(connection, **values)
    rows = standing.all()
    found = {row.host: row.source_id for row in rows}
    to_wake: dict[int, int] = {}
    for row in rows:
        if row.changes:
            band = bands[row.host]
            to_wake[row.source_id] = min(to_wake.get(row.source_id, band), band)
    times = {row.source_id: orjson.loads(row.ranks) for row in rows if row.ranks != "{}"}
    missing = {host: bands[host] for host in sorted(bands.keys() - found.keys())}
    if not missing:
        return Sources(found, to_wake, times)
    created = _create(connection, missing, delay_ms=delay_ms, now=now)
    return Sources(
        by_host={**found, **created.by_host},
        to_wake={**to_wake, **created.to_wake},
        virtual_times={**times, **created.virtual_times},
    )


def _create(
    connection: Connection, missing: Mapping[str, int], *, delay_ms: int, now: int
) -> Sources:
    """Creates the missing sources, which are ready as soon as this transaction commits, and the
    hosts."""
    homes: dict[str, int] = {}
    for host, band in missing.items():
        home = home_of(host)
        homes[home] = min(homes.get(home, band), band)
    rows = _INSERT_SOURCES(connection, wanted=sorted(homes.items()), delay_ms=delay_ms, now=now)
    new = frozenset(row.id for row in rows)
    inserted = _INSERT_HOSTS(connection, wanted=[(host, home_of(host)) for host in missing],
                             now=now)  # fmt: skip
    by_host = {row.host: row.source_id for row in inserted}
    if rest := missing.keys() - by_host.keys():  # another transaction has just inserted them
        by_host |= known_hosts(connection, rest)
    joined: dict[int, int] = {}
    for host, source_id in by_host.items():
        if source_id not in new:
            joined[source_id] = min(joined.get(source_id, missing[host]), missing[host])
    return Sources(by_host, joined, virtual_times(connection, joined))


def wake(connection: Connection, bands: Mapping[int, int], *, now: int) -> None:
    """These sources have work of these bands. Writes, and so locks, only sources that change."""
    if not bands:
        return
    changed = _LOCK_CHANGED(connection, wanted=list(bands.items()), now=now).scalars()
    if changed:
        _SET_READY(connection, wanted=[(i, bands[i]) for i in changed], now=now)


def wake_released(connection: Connection, bands: Mapping[int, int], *, now: int) -> None:
    """Wakes sources that were released while work for them was committed: the work found the source
    awake, and the release did not find the work. Waits for releases that are under way.

    The links of a page are admitted just when its lane has nothing left to do, so that crawls meet
    this often. Each waits until the source is looked at again, which may take ten seconds.
    """
    if bands:
        _LOCK(connection, wanted=[(source_id,) for source_id in bands]).all()
        _SET_READY(connection, wanted=list(bands.items()), now=now)
