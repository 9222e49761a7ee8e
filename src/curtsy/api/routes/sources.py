"""Sources: what each allows, how it stands, and what is to be otherwise."""

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
    shown,
)
from curtsy.errors import NotFound
from curtsy.frontier.source_policy import PolicyContext
from curtsy.sources import source
from curtsy.store import Connection

router = APIRouter(
    route_class=JsonRoute, prefix="/sources", generate_unique_id_function=attrgetter("name")
)
NOBODY = "anyone"
"""Who paused a source where nobody is asked who it is."""
MADE: dict[int | str, dict[str, Any]] = {201: {"model": SourceShown}}


async def _name(source_name: str) -> str:
    """What cannot be a name, and so need not be asked for, is not found either."""
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
    """Sources by name: all, or those that somebody described. Who sees only their own jobs sees
    only the latter, since the others tell what everybody asks for."""
    now, only = backend.clock.now(), described or caller.confined_to is not None
    found = await backend.read(lambda c: source.list_sources(
        c, backend.policy, after=cursor or "", most=limit + 1, described=only, now=now
    ))  # fmt: skip
    more = len(found) > limit
    return SourceList(
        sources=[shown(one, now) for one in found[:limit]],
        limit=limit,
        next_cursor=found[limit - 1].row.name if more else None,
    )


@router.get("/{source_name}", responses=problems(404))
async def get_source(name: Name, backend: TheBackend, caller: TheCaller) -> SourceShown:
    """One source: its policy, what was said of it, and how it stands."""
    now = backend.clock.now()
    found = await backend.read(lambda c: source.source(c, name, backend.policy, now=now))
    if caller.confined_to is not None and not found.row.described:
        raise NotFound("source", name)
    return shown(found, now)


@router.put("/{source_name}", responses=MADE | problems(507))
async def put_source(
    source_name: str, words: SourceDescription, backend: TheBackend, response: Response
) -> SourceShown:
    """Describe a source: it is as these words say, and as the settings say of everything else."""

    def put(connection: Connection, around: PolicyContext) -> tuple[bool, SourceShown]:
        made = source.put_source(connection, source_name, words, around)
        return made, _as_it_is(connection, source_name, around)

    made, now_so = await backend.change_source(put)
    response.status_code = 201 if made else 200
    return now_so


@router.patch("/{source_name}", responses=problems(404, 507))
async def update_source(name: Name, words: SourceChanges, backend: TheBackend) -> SourceShown:
    """Change what these words name, and nothing else; null is as the settings have it."""

    def patch(connection: Connection, around: PolicyContext) -> SourceShown:
        source.patch_source(connection, name, words, around)
        return _as_it_is(connection, name, around)

    return await backend.change_source(patch)


@router.delete("/{source_name}", responses=problems(404, 507))
async def delete_source(name: Name, backend: TheBackend) -> Forgotten:
    """Forget what was said of a source: its hosts are as if nobody had described them. What waits
    there still waits."""
    await backend.change_source(lambda c, around: source.delete_source(c, name, around))
    message = f"{name} is forgotten: its hosts are as the settings have them."
    return Forgotten(name=name, message=message)


@router.post("/{source_name}/pause", responses=problems(404, 409, 507))
async def pause_source(name: Name, backend: TheBackend, caller: TheCaller) -> SourceShown:
    """Ask its hosts for nothing until it is resumed; what waits is kept."""
    return await _paused(backend, name, by=caller.user_id or NOBODY)


@router.post("/{source_name}/resume", responses=problems(404, 409, 507))
async def resume_source(name: Name, backend: TheBackend) -> SourceShown:
    """Go on with a paused source, at its pace."""
    return await _paused(backend, name, by=None)


async def _paused(backend: Backend, name: str, *, by: str | None) -> SourceShown:
    def change(connection: Connection, around: PolicyContext) -> SourceShown:
        if by is None:
            source.resume_source(connection, name, now=around.now)
        else:
            source.pause_source(connection, name, by=by)
        return _as_it_is(connection, name, around)

    return await backend.change_source(change)


def _as_it_is(connection: Connection, name: str, around: PolicyContext) -> SourceShown:
    return shown(source.source(connection, name, around.defaults, now=around.now), around.now)
