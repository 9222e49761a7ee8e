"""Declared sites: stores, reads, lists, locks and deletes them."""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from curtsy.errors import BadRequest, NotFound, WrongState
from curtsy.model.urls import Url, canonical
from curtsy.sites.spec import SiteSpec, fields_of, fill
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
_COLUMNS = "s.id, s.name, s.declared, s.enabled, s.created_at, s.updated_at"
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
_DELETE = tuple(
    Statement(sql)
    for sql in ("DELETE FROM records WHERE site_id = :id", "DELETE FROM sites WHERE id = :id")
)


@dataclass(frozen=True, slots=True)
class Site:
    """A row of the table sites, with its declaration parsed."""

    id: int
    name: str
    declared: str
    """The declaration as JSON."""
    enabled: bool
    created_at: int
    updated_at: int
    parsed: SiteSpec | BadRequest
    """An error if another version of curtsy stored a declaration that this version rejects."""

    @property
    def spec(self) -> SiteSpec:
        """Raises `BadRequest` if the declaration is not valid any more."""
        if isinstance(self.parsed, BadRequest):
            raise self.parsed
        return self.parsed

    @property
    def start(self) -> Url:
        """A URL of the site: its host decides the pace."""
        sample = dict.fromkeys(fields_of(self.spec.search_url), "1")
        return canonical(fill(self.spec.search_url, sample))


class ListedSite(NamedTuple):
    """A site with its own schedule, if it has one, and its last run."""

    site: Site
    schedule: str | None
    next_fire_at: int | None
    rule: str | None
    last_run_at: int | None


def put_site(
    connection: Connection, name: str, spec: SiteSpec, *, described_as: str | None, now: int
) -> Site:
    """Inserts or updates a site. `described_as` is the hash of its section in the sites file."""
    if not NAME.fullmatch(name):
        raise BadRequest([f"{name[:100]!r} is not a valid site name: use a-z, 0-9, '.', '_', '-'."])
    declared = orjson.dumps(spec.model_dump(mode="json", exclude_unset=True)).decode()
    _PUT(connection, name=name, declared=declared, enabled=spec.enabled, now=now,
         described_as=described_as).all()  # fmt: skip
    return find_site(connection, name)


def find_site(connection: Connection, name: str, *, lock: bool = False) -> Site:
    """Returns the site. With `lock` no other process starts a run of the site until the transaction
    ends. Raises `NotFound`."""
    row = (_LOCK if lock else _ONE)(connection, name=name).one_or_none()
    if row is None:
        raise NotFound("site", name[:100])
    return _site_of(row)


def known_site(connection: Connection, name: str) -> Site | None:
    """Like `find_site`, but returns None for an unknown site."""
    row = _ONE(connection, name=name).one_or_none()
    return _site_of(row) if row is not None else None


def list_sites(connection: Connection, *, after: str, most: int) -> list[ListedSite]:
    """Lists the sites whose declarations are valid, by name."""
    rows = list(_LIST(connection, after=after, most=most))
    last = {row.site_id: row.at for row in
            _LAST_RUNS(connection, wanted=[(row.id,) for row in rows])} if rows else {}  # fmt: skip
    listed = [ListedSite(_site_of(row), row.schedule, row.next_fire_at, row.rule, last.get(row.id))
              for row in rows]  # fmt: skip
    return [one for one in listed if isinstance(one.site.parsed, SiteSpec)]


def remove_site(connection: Connection, name: str) -> Site:
    """Deletes a site and its records, and returns the site. Its runs remain as jobs."""
    found = find_site(connection, name, lock=True)
    for statement in _DELETE:
        statement(connection, id=found.id)
    return found


def lock_idle(connection: Connection, site_id: int, *, confined_to: str | None) -> None:
    """Locks the site, if it still exists, and raises `WrongState` if a run of it is open."""
    row = _LOCK_ID(connection, id=site_id).one_or_none()
    if row is not None:
        require_idle(connection, _site_of(row), confined_to=confined_to)


def require_idle(connection: Connection, site: Site, *, confined_to: str | None) -> None:
    """Raises `WrongState` if a run of this locked site is open: runs of a site never overlap. The
    error names another user's run only to callers who may see that run."""
    running = _RUNNING(connection, id=site.id).one_or_none()
    if running is not None:
        may_see = confined_to is None or confined_to == running.user_id
        by = f"as {running.public_id}" if may_see else "for another user"
        raise WrongState(
            f"Site {site.name}", f"being scraped {by}", "scraped again before that ends"
        )


def _site_of(row: Any) -> Site:
    try:
        parsed: SiteSpec | BadRequest = SiteSpec.stored(orjson.loads(row.declared))
    except ValidationError as wrong:
        problem = wrong.errors(include_url=False)[0]["msg"][:300]
        sentence = f"The declaration of the site {row.name} is not valid any more"
        parsed = BadRequest([f"{sentence} ({problem}): declare the site again."])
    return Site(
        id=int(row.id), name=row.name, declared=row.declared, enabled=bool(row.enabled),
        created_at=row.created_at, updated_at=row.updated_at, parsed=parsed,
    )  # fmt: skip
