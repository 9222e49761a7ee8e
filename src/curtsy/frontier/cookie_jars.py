"""Stores the cookies of sessions: a jar for each session and source, and what the job brought.

Only the owner of a source writes the jars of the source, in its flush. The row of source 0 is what
the session was given when its job was admitted; no lane writes it.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from curtsy.store import Connection, Statement

GIVEN = 0
"""In place of a source: the cookies that came with the job."""

_READ = Statement(
    """
    SELECT source_id, cookies, login FROM cookie_jars
    WHERE session = :session AND source_id IN (:given, :source_id)
    """
)
_HOSTS = Statement("SELECT host FROM hosts WHERE source_id = :source_id")
_WRITE = Statement(
    """
    INSERT INTO cookie_jars (session, source_id, cookies, login, job_id, updated_at)
    SELECT session, source_id, cookies, login, job_id, :now FROM {jars}
    WHERE jars.source_id = 0 OR substr(jars.session, 1, 4) <> 'job_' OR EXISTS (
        SELECT 1 FROM cookie_jars g WHERE g.session = jars.session AND g.source_id = 0)
    ON CONFLICT (session, source_id) DO UPDATE SET cookies = excluded.cookies,
        login = excluded.login, job_id = excluded.job_id, updated_at = excluded.updated_at
    """,
    jars={"session": "text", "source_id": "bigint", "cookies": "text", "login": "text",
          "job_id": "bigint"},
)  # fmt: skip
_OF_JOBS = Statement(
    """
    DELETE FROM cookie_jars WHERE (session, source_id) IN (
        SELECT session, source_id FROM cookie_jars WHERE session IN (
            SELECT c.session FROM {gone} JOIN cookie_jars c ON c.job_id = gone.id)
        ORDER BY session, source_id {lock})
    """,
    gone={"id": "bigint"},
)
_OLD = Statement(
    """
    DELETE FROM cookie_jars WHERE (session, source_id) IN (
        SELECT session, source_id FROM cookie_jars
        WHERE updated_at < :before AND (session, source_id) IN (
            SELECT c.session, c.source_id FROM cookie_jars c
            WHERE c.updated_at < :before
              AND NOT EXISTS (SELECT 1 FROM cookie_jars g JOIN jobs j ON j.id = g.job_id
                              WHERE g.session = c.session AND g.source_id = 0)
              AND NOT EXISTS (SELECT 1 FROM schedules s WHERE 'schedule_' || s.id = c.session)
              AND NOT EXISTS (SELECT 1 FROM sites s WHERE 'site_' || s.id = c.session)
            ORDER BY c.updated_at LIMIT :most)
        ORDER BY session, source_id {lock})
    """
)


class StoredJar(NamedTuple):
    """The jar of a session at a source."""

    session: str
    source_id: int
    cookies: str
    """JSON."""
    login: str = "{}"
    """JSON: what is known of the login."""
    job_id: int | None = None
    """The job whose jars end with it; None: a schedule or site keeps the session, or the row is
    not the one that came with the job."""


class JarPair(NamedTuple):
    """What is stored of a session for one source."""

    given: str
    """JSON: the cookies that came with the job."""
    jar: StoredJar | None
    """None: no page of the session was fetched from the source."""
    hosts: tuple[str, ...] = ()
    """Of the source."""


def read_jar(connection: Connection, session: str, source_id: int) -> JarPair:
    rows = _READ(connection, session=session, given=GIVEN, source_id=source_id)
    found = {row[0]: StoredJar(session, *row) for row in rows.tuples()}
    given = found.get(GIVEN)
    hosts = tuple(_HOSTS(connection, source_id=source_id).scalars()) if given is not None else ()
    return JarPair(given.cookies if given is not None else "[]", found.get(source_id), hosts)


def store_jars(connection: Connection, jars: Iterable[StoredJar], *, now: int) -> None:
    """Stores absolute contents: a repeated write does no harm. A session that ended with its job
    gets no jar any more, as from a flush behind the purge of the job."""
    rows = [tuple(jar) for jar in sorted(jars, key=lambda jar: (jar.session, jar.source_id))]
    if rows:
        _WRITE(connection, jars=rows, now=now)


def delete_jars_of(connection: Connection, jobs: Sequence[int]) -> None:
    """Deletes the sessions that end with these jobs."""
    _OF_JOBS(connection, gone=[(job,) for job in jobs])


def delete_old_jars(connection: Connection, *, before: int, most: int) -> int:
    """Deletes jars that were not written since and whose session nothing can use any more: its job,
    schedule or site is gone. Returns how many, at most `most`."""
    return int(_OLD(connection, before=before, most=most).rowcount)
