"""Sources: shows their policies and state, and describes, pauses, resumes and deletes them."""

from operator import attrgetter
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.backend import Backend, TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.schemas.sources import (
    Forgotten,
    SourceChanges,
    SourceDescription,
    SourceList,
    SourceShown,
    source_of,
)
from curtsy.errors import NotFound
from curtsy.frontier.source_policy import PolicyContext
from curtsy.model.roles import ANONYMOUS
from curtsy.sources import source
from curtsy.store import Connection

router = APIRouter(
    route_class=JsonRoute, prefix="/sources", generate_unique_id_function=attrgetter("name")
)
IF_CREATED: dict[int | str, dict[str, Any]] = {201: {"model": SourceShown}}


async def _name(source_name: str) -> str:
    """Raises `NotFound` for text that cannot be the name of a source."""
    if not source.NAME.fullmatch(source_name):
        raise NotFound("source", source_name[:100])
    return source_name


Name = Annotated[str, Depends(_name)]


@router.get("", responses=problems())
async def list_sources(
    backend: TheBackend,
    caller: TheCaller,
    described: bool = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor: Annotated[str | None, Query(min_length=1, max_length=300)] = None,
) -> SourceList:
    """Sources by name, all or only described ones. Callers who see only their own jobs get only
    described sources, since the others would show what other users fetch."""
    now, only = backend.clock.now(), described or caller.confined_to is not None
    found = await backend.read(lambda c: source.list_sources(
        c, backend.policy, after=cursor or "", most=limit + 1, described=only, now=now
    ))  # fmt: skip
    return SourceList(
        sources=[source_of(one, now) for one in found[:limit]],
        limit=limit,
        next_cursor=found[limit - 1].row.name if len(found) > limit else None,
    )


@router.get("/{source_name}", responses=problems(404))
async def get_source(name: Name, backend: TheBackend, caller: TheCaller) -> SourceShown:
    """A source with its description, the policy in force and its state."""
    now = backend.clock.now()
    found = await backend.read(lambda c: source.source(c, name, backend.policy, now=now))
    if caller.confined_to is not None and not found.row.described:
        raise NotFound("source", name)
    return source_of(found, now)


@router.put("/{source_name}", responses=IF_CREATED | problems(507))
async def put_source(
    source_name: str, body: SourceDescription, backend: TheBackend, response: Response
) -> SourceShown:
    """Describe a source; replaces an earlier description. Fields that are left out take the
    defaults of the settings."""

    def put(connection: Connection, context: PolicyContext) -> tuple[bool, SourceShown]:
        is_new = source.put_source(connection, source_name, body, context)
        return is_new, _read(connection, source_name, context)

    is_new, described = await backend.change_source(put)
    response.status_code = 201 if is_new else 200
    return described


@router.patch("/{source_name}", responses=problems(404, 507))
async def update_source(name: Name, body: SourceChanges, backend: TheBackend) -> SourceShown:
    """Change only the given fields of a source; null restores the default of the settings."""

    def patch(connection: Connection, context: PolicyContext) -> SourceShown:
        source.patch_source(connection, name, body, context)
        return _read(connection, name, context)

    return await backend.change_source(patch)


@router.delete("/{source_name}", responses=problems(404, 507))
async def delete_source(name: Name, backend: TheBackend) -> Forgotten:
    """Delete the description of a source: its hosts use the defaults of the settings. Waiting pages
    keep waiting."""
    await backend.change_source(lambda c, context: source.delete_source(c, name, context))
    message = f"{name} is removed: its hosts use the defaults of the settings."
    return Forgotten(name=name, message=message)


@router.post("/{source_name}/pause", responses=problems(404, 409, 507))
async def pause_source(name: Name, backend: TheBackend, caller: TheCaller) -> SourceShown:
    """Send no requests to the hosts of a source until it is resumed; waiting pages keep waiting."""
    return await _set_paused(backend, name, by=caller.user_id or ANONYMOUS)


@router.post("/{source_name}/resume", responses=problems(404, 409, 507))
async def resume_source(name: Name, backend: TheBackend) -> SourceShown:
    """Resume a paused source, at its pace."""
    return await _set_paused(backend, name, by=None)


async def _set_paused(backend: Backend, name: str, *, by: str | None) -> SourceShown:
    def change(connection: Connection, context: PolicyContext) -> SourceShown:
        if by is None:
            source.resume_source(connection, name, now=context.now)
        else:
            source.pause_source(connection, name, by=by)
        return _read(connection, name, context)

    return await backend.change_source(change)


def _read(connection: Connection, name: str, context: PolicyContext) -> SourceShown:
    return source_of(
        source.source(connection, name, context.defaults, now=context.now), context.now
    )
