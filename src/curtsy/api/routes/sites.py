"""Sites: declares, shows and deletes them, and lists the records that their runs found."""

from operator import attrgetter
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict

from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.clock import rfc3339
from curtsy.extract.pattern_check import check_patterns
from curtsy.frontier.source_policy import PolicyContext
from curtsy.requests import examples
from curtsy.schedules.site_schedules import declare, remove_with_schedule
from curtsy.sites import site
from curtsy.sites.records import StoredRecord, records_of_site
from curtsy.sites.spec import SiteSpec
from curtsy.store import Connection

router = APIRouter(
    route_class=JsonRoute, prefix="/sites", generate_unique_id_function=attrgetter("name")
)


class SiteDeclared(SiteSpec):
    """The declaration of a site."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=examples.shown(examples.SITE)
    )


class SiteSaid(BaseModel):
    """A declared site."""

    name: str
    declared: dict[str, Any]
    """The declaration as it was sent."""
    created_at: str
    updated_at: str


class SiteGone(BaseModel):
    """The confirmation that a site was deleted."""

    name: str
    message: str


class RecordShown(BaseModel):
    """A record that runs of a site found."""

    key: str
    record: dict[str, Any]
    first_seen_at: str
    last_seen_at: str
    changed_at: str


class RecordList(BaseModel):
    records: list[RecordShown]
    limit: int
    next_cursor: str | None = None


IF_CREATED: dict[int | str, dict[str, Any]] = {201: {"model": SiteSaid}}


@router.put("/{site_name}", responses=IF_CREATED | problems(413, 507))
async def put_site(
    site_name: str, body: SiteDeclared, backend: TheBackend, response: Response
) -> SiteSaid:
    """Declare a site with its schedule; replaces an earlier declaration."""
    await check_patterns({"recipe": body.recipe})

    def put(connection: Connection, context: PolicyContext) -> tuple[bool, SiteSaid]:
        is_new = site.known_site(connection, site_name) is None
        check = backend.schedules.check_payload
        return is_new, _site(declare(connection, site_name, body, context, check=check))

    is_new, declared = await backend.change_source(put)
    backend.schedules.ticker.wake()
    response.status_code = 201 if is_new else 200
    return declared


@router.get("/{site_name}", responses=problems(404))
async def get_site(site_name: str, backend: TheBackend) -> SiteSaid:
    """The declaration of a site."""
    return _site(await backend.read(lambda c: site.find_site(c, site_name)))


@router.delete("/{site_name}", responses=problems(404, 507))
async def delete_site(site_name: str, backend: TheBackend) -> SiteGone:
    """Delete a site with its schedule and its records; its runs stay."""
    await backend.schedules.change(
        lambda c: remove_with_schedule(c, site_name, now=backend.clock.now())
    )
    return SiteGone(name=site_name, message=f"{site_name} is removed; its runs are kept.")


@router.get("/{site_name}/records", responses=problems(404))
async def list_site_records(
    site_name: str,
    backend: TheBackend,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
) -> RecordList:
    """The records that runs of the site found, as last seen, sorted by key."""

    def read(connection: Connection) -> list[StoredRecord]:
        found = site.find_site(connection, site_name)
        return records_of_site(connection, found.id, after=cursor or "", most=limit + 1)

    rows = await backend.read(read)
    return RecordList(
        records=[_record(row) for row in rows[:limit]], limit=limit,
        next_cursor=rows[limit - 1].key if len(rows) > limit else None,
    )  # fmt: skip


def _site(found: site.Site) -> SiteSaid:
    return SiteSaid(name=found.name, declared=orjson.loads(found.declared),
                    created_at=rfc3339(found.created_at),
                    updated_at=rfc3339(found.updated_at))  # fmt: skip


def _record(row: StoredRecord) -> RecordShown:
    return RecordShown(
        key=row.key, record=orjson.loads(row.data), first_seen_at=rfc3339(row.first_seen_at),
        last_seen_at=rfc3339(row.last_seen_at), changed_at=rfc3339(row.changed_at),
    )  # fmt: skip
