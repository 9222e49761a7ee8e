"""Sites that were declared: their rows, and the job that a run of one is."""

import re
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from curtsy.errors import BadRequest, NotFound, WrongState
from curtsy.model.urls import Url, canonical
from curtsy.sites.spec import SiteSpec, fields_of, filled
from curtsy.store import Connection, Statement

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")

_PUT = Statement(
    """
    INSERT INTO sites (name, declared, enabled, described_as, created_at, updated_at)
    VALUES (:name, :declared, :enabled, :described_as, :now, :now)
    ON CONFLICT (name) DO UPDATE SET declared = excluded.declared, enabled = excluded.enabled,
        described_as = coalesce(excluded.described_as, sites.described_as),
        updated_at = excluded.updated_at
    RETURNING id
    """
)
_COLUMNS = "s.id, s.name, s.declared, s.enabled, s.described_as, s.created_at, s.updated_at"
_ONE = Statement(f"SELECT {_COLUMNS} FROM sites s WHERE s.name = :name")  # noqa: S608
_LOCK = Statement(f"SELECT {_COLUMNS} FROM sites s WHERE s.name = :name {{lock}}")  # noqa: S608
_LOCK_ID = Statement(f"SELECT {_COLUMNS} FROM sites s WHERE s.id = :id {{lock}}")  # noqa: S608
_LIST = Statement(
    f"""
    SELECT {_COLUMNS}, c.public_id AS schedule, c.next_fire_at, c.rule
    FROM sites s LEFT JOIN schedules c ON c.site_id = s.id AND c.name = s.name AND c.of_site
    WHERE s.name > :after ORDER BY s.name LIMIT :most
    """  # noqa: S608
)
_LAST_RUNS = Statement(
    """
    SELECT site_id, max(created_at) AS at FROM jobs
    WHERE site_id IN (SELECT id FROM {wanted}) AND site_id IS NOT NULL GROUP BY site_id
    """,
    wanted={"id": "bigint"},
)
_RUNNING = Statement(
    """
    SELECT public_id, user_id FROM jobs
    WHERE site_id = :id AND site_id IS NOT NULL AND finished_at IS NULL LIMIT 1
    """
)
_REMOVE = tuple(
    Statement(sql)
    for sql in ("DELETE FROM records WHERE site_id = :id", "DELETE FROM sites WHERE id = :id")
)


@dataclass(frozen=True, slots=True)
class Site:
    row: Any
    said: SiteSpec | BadRequest
    """Or why it cannot be understood any more: another version of curtsy stored it."""

    @property
    def words(self) -> SiteSpec:
        """Raises `BadRequest`."""
        if isinstance(self.said, BadRequest):
            raise self.said
        return self.said

    @property
    def id(self) -> int:
        return int(self.row.id)

    @property
    def name(self) -> str:
        return str(self.row.name)

    @property
    def start(self) -> Url:
        """Where it is: its host decides how it is paced."""
        sample = dict.fromkeys(fields_of(self.words.search_url), "1")
        return canonical(filled(self.words.search_url, sample))


def put_site(
    connection: Connection, name: str, words: SiteSpec, *, as_in_file: str | None, now: int
) -> Site:
    if not NAME.fullmatch(name):
        raise BadRequest([f"{name[:100]!r} is no name for a site: use a-z, 0-9, '.', '_', '-'."])
    declared = orjson.dumps(words.model_dump(mode="json", exclude_unset=True)).decode()
    _PUT(connection, name=name, declared=declared, enabled=words.enabled, now=now,
         described_as=as_in_file).all()  # fmt: skip
    return site(connection, name)


def site(connection: Connection, name: str, *, holds: bool = False) -> Site:
    """With `holds` nobody else starts a run of it until the transaction ends."""
    row = (_LOCK if holds else _ONE)(connection, name=name).one_or_none()
    if row is None:
        raise NotFound("site", name[:100])
    return of_row(row)


def known_site(connection: Connection, name: str) -> Site | None:
    row = _ONE(connection, name=name).one_or_none()
    return of_row(row) if row is not None else None


def of_row(row: Any) -> Site:
    try:
        return Site(row, SiteSpec.stored(orjson.loads(row.declared)))
    except ValidationError as wrong:
        problem = wrong.errors(include_url=False)[0]["msg"][:300]
        sentence = f"What was declared of the site {row.name} is not understood any more"
        return Site(row, BadRequest([f"{sentence} ({problem}): declare it again."]))


def list_sites(connection: Connection, *, after: str, most: int) -> list[tuple[Site, int | None]]:
    """Each with when it was last run; of those whose words are understood."""
    rows = list(_LIST(connection, after=after, most=most))
    last = {row.site_id: row.at for row in
            _LAST_RUNS(connection, wanted=[(row.id,) for row in rows])} if rows else {}  # fmt: skip
    found = [(of_row(row), last.get(row.id)) for row in rows]
    return [(one, at) for one, at in found if isinstance(one.said, SiteSpec)]


def remove_site(connection: Connection, name: str) -> Site:
    """With its records; its runs stay, as jobs."""
    found = site(connection, name, holds=True)
    for statement in _REMOVE:
        statement(connection, id=found.id)
    return found


def hold_idle(connection: Connection, site_id: int, *, confined_to: str | None) -> None:
    """Hold the site, if it is still there, and require that nobody scrapes it."""
    row = _LOCK_ID(connection, id=site_id).one_or_none()
    if row is not None:
        require_idle(connection, of_row(row), confined_to=confined_to)


def require_idle(connection: Connection, held: Site, *, confined_to: str | None) -> None:
    """Of a site that is held: no two runs of it at once. The run of somebody else's is not named
    to one who may know only of its own."""
    running = _RUNNING(connection, id=held.id).one_or_none()
    if running is not None:
        named = confined_to is None or confined_to == running.user_id
        by = f"as {running.public_id}" if named else "for somebody else"
        raise WrongState(f"Site {held.name}", f"being scraped {by}", "scraped beside it")
