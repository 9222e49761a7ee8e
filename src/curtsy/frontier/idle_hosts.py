"""Deletes the hosts of which no page is left, and the sources without hosts.

Only hosts of idle sources are deleted: nobody described the source, it has had no work for long,
and it has none now, nor an open dead letter, such as that of a page of another host that led
there. Pages have no index by host, so the caller reads all pages once and removes
the hosts that it met from the candidates. A page that is admitted meanwhile needs a visit, which
wakes its source; a lease, which puts it to sleep again, changes its epoch.
"""

from collections.abc import Sequence
from typing import NamedTuple

from curtsy.frontier.retention import Slice
from curtsy.store import Connection, Statement

BATCH = 200
"""Sources whose hosts one transaction deletes."""

_IDLE = """
    NOT s.described AND NOT s.paused AND s.owner IS NULL AND s.ready_at IS NULL
    AND s.created_at < :before
    AND (SELECT r.day FROM receipts r WHERE r.source_id = s.id AND r.day >= :day
         ORDER BY r.day LIMIT 1) IS NULL
    AND (SELECT v.page_id FROM visits v WHERE v.source_id = s.id AND v.due_at IS NULL
         ORDER BY v.priority, v.rank, v.page_id LIMIT 1) IS NULL
    AND (SELECT v.page_id FROM visits v WHERE v.source_id = s.id AND v.due_at IS NOT NULL
         ORDER BY v.due_at LIMIT 1) IS NULL
    AND (SELECT d.id FROM dead_letters d WHERE d.source_id = s.id AND d.state = 'open'
         ORDER BY d.id LIMIT 1) IS NULL
"""
"""Each subquery has the order of an index: to find no row at all, PostgreSQL would otherwise read
the whole table, since it expects one soon."""
_IDLE_SOURCES = Statement(
    f"SELECT s.id, s.epoch FROM sources s WHERE s.id > :after AND s.id <= :upto AND {_IDLE}"  # noqa: S608
)
_HOSTS = Statement(
    "SELECT host, source_id FROM hosts WHERE source_id > :after AND source_id <= :upto"
)
_HOSTS_OF_PAGES = Statement("SELECT DISTINCT host FROM pages WHERE id > :after AND id <= :upto")
_WAIT_BRIEFLY = Statement("{wait_briefly}")
_LOCK_HOSTS = Statement("{lock_hosts}")
_LOCK_STILL_IDLE = Statement(
    f"""
    SELECT s.id FROM sources s
    WHERE s.id IN (SELECT id FROM {{wanted}})
      AND s.epoch = (SELECT epoch FROM {{wanted}} WHERE wanted.id = s.id) AND {_IDLE}
    ORDER BY s.id {{lock_skip}}
    """,  # noqa: S608
    wanted={"id": "bigint", "epoch": "bigint"},
)
_DELETE_HOSTS = Statement(
    """
    DELETE FROM hosts WHERE host IN (SELECT host FROM {gone})
      AND source_id IN (SELECT id FROM {still})
    """,
    gone={"host": "text"},
    still={"id": "bigint"},
)
_DELETE_SOURCES = Statement(
    """
    DELETE FROM sources WHERE id IN (SELECT id FROM {still})
      AND (SELECT h.source_id FROM hosts h WHERE h.source_id = sources.id LIMIT 1) IS NULL
    """,
    still={"id": "bigint"},
)


class IdleSource(NamedTuple):
    id: int
    epoch: int


class Deleted(NamedTuple):
    hosts: int
    sources: int


def idle_sources(
    connection: Connection, sources: Slice, *, before: int, day: int
) -> tuple[list[IdleSource], dict[str, int]]:
    """Returns the idle sources of a slice that are older than `before` and without a request since
    that day, and their hosts with the source of each."""
    rows = _IDLE_SOURCES(connection, **sources._asdict(), before=before, day=day).tuples()
    found = [IdleSource._make(row) for row in rows]
    ids = {source.id for source in found}
    hosts = _HOSTS(connection, **sources._asdict()) if found else ()
    return found, {row.host: row.source_id for row in hosts if row.source_id in ids}


def hosts_of_pages(connection: Connection, pages: Slice) -> list[str]:
    """Returns the hosts of the pages of a slice."""
    return list(_HOSTS_OF_PAGES(connection, **pages._asdict()).scalars())


def delete_hosts(
    connection: Connection, sources: Sequence[IdleSource], hosts: Sequence[str], *, before: int,
    day: int,
) -> Deleted:  # fmt: skip
    """Deletes those of these hosts whose source is still as idle, and then those of these sources
    that have no host. Until this ends, no other transaction finds a host: it would wake a source
    that is gone."""
    _WAIT_BRIEFLY(connection)
    _LOCK_HOSTS(connection)
    still = _LOCK_STILL_IDLE(connection, wanted=sources, before=before, day=day).scalars()
    if not still:
        return Deleted(0, 0)
    ids = [(i,) for i in still]
    deleted = _DELETE_HOSTS(connection, gone=[(host,) for host in hosts], still=ids)
    return Deleted(int(deleted.rowcount), int(_DELETE_SOURCES(connection, still=ids).rowcount))
