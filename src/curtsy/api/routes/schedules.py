"""Schedules: jobs that come at their time, what each slot came to, and what comes next."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import HTTPConnection

from curtsy.api.auth.middleware import TheCaller, caller_of
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.schemas.schedules import (
    ScheduleList,
    ScheduleRemoved,
    ScheduleShown,
    SlotList,
    SlotShown,
    as_listed,
    as_shown,
    slot_shown,
)
from curtsy.clock import rfc3339
from curtsy.errors import WrongState
from curtsy.requests.schedule_specs import changed_spec, new_spec
from curtsy.requests.schedules import ScheduleChanges, ScheduleRequest
from curtsy.schedules import listing, lookup
from curtsy.schedules import schedule as changing
from curtsy.store import Connection

router = APIRouter(
    route_class=JsonRoute, prefix="/schedules", generate_unique_id_function=attrgetter("name")
)
LATEST = 2**62


async def _schedule(schedule_id: str, connection: HTTPConnection, backend: TheBackend) -> str:
    """By id or name; what is somebody else's is as unknown as what never was."""
    caller = caller_of(connection)
    sees_all = caller.confined_to is None
    return await backend.read(
        lambda c: lookup.id_of(c, schedule_id, user=caller.user_id, sees_all=sees_all)
    )


TheSchedule = Annotated[str, Depends(_schedule)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[str | None, Query(pattern=r"^[0-9]{1,18}$")]


@router.get("", responses=problems(), response_model_exclude_none=True)
async def list_schedules(
    backend: TheBackend, caller: TheCaller, limit: Limit = 50, cursor: Cursor = None
) -> ScheduleList:
    """Schedules in the order in which they were made."""
    after, user = int(cursor or 0), caller.confined_to
    rows = await backend.read(
        lambda c: listing.list_schedules(c, user=user, after=after, most=limit + 1)
    )
    return ScheduleList(
        schedules=[as_listed(row) for row in rows[:limit]], limit=limit,
        next_cursor=str(rows[limit - 1].schedule.id) if len(rows) > limit else None,
    )  # fmt: skip


@router.post("", status_code=201, responses=problems(403, 409, 413, 507),
             response_model_exclude_none=True)  # fmt: skip
async def create_schedule(
    asked: ScheduleRequest, backend: TheBackend, caller: TheCaller
) -> ScheduleShown:
    """Make a schedule. Its payload is checked as if it were asked for now."""
    now = backend.clock.now()

    def make(connection: Connection) -> lookup.Schedule:
        spec = new_spec(connection, asked, caller, backend.schedules.check_payload, now)
        return changing.create(connection, spec, now=now)

    return as_shown(await backend.schedules.change(make), now=now)


@router.get("/{schedule_id}", responses=problems(404), response_model_exclude_none=True)
async def get_schedule(schedule: TheSchedule, backend: TheBackend) -> ScheduleShown:
    """One schedule, with its next firings in its own zone and in UTC."""
    row = await backend.read(lambda c: lookup.find(c, schedule))
    return as_shown(row, now=backend.clock.now())


@router.patch("/{schedule_id}", responses=problems(403, 404, 409, 413, 507),
              response_model_exclude_none=True)  # fmt: skip
async def update_schedule(
    schedule: TheSchedule, asked: ScheduleChanges, backend: TheBackend, caller: TheCaller
) -> ScheduleShown:
    """Change what is said, and nothing else. With another rule its slots begin anew."""
    now = backend.clock.now()

    def change(connection: Connection) -> lookup.Schedule:
        before = changing.spec_of(lookup.locked(connection, schedule))
        spec = changed_spec(connection, asked, before, caller, backend.schedules.check_payload, now)
        return changing.change(connection, schedule, spec, now=now)

    return as_shown(await backend.schedules.change(change), now=now)


@router.delete("/{schedule_id}", responses=problems(404, 507))
async def delete_schedule(schedule: TheSchedule, backend: TheBackend) -> ScheduleRemoved:
    """Remove a schedule and its history. A job that waits for its slot is cancelled; those that
    run go on."""
    row = await backend.schedules.change(
        lambda c: changing.remove(c, schedule, now=backend.clock.now())
    )
    return ScheduleRemoved(id=schedule, message=f"{row.name} is removed.")


@router.post("/{schedule_id}/run", status_code=202, responses=problems(404, 409, 429, 507),
             response_model_exclude_none=True)  # fmt: skip
async def run_schedule(schedule: TheSchedule, backend: TheBackend) -> SlotShown:
    """Run it now, by hand; its slots stay as they are. 409 while a run goes on. A duty that is not
    done within ten seconds goes on by itself."""
    fired = await backend.schedules.run(schedule)
    return SlotShown(fire_at=rfc3339(fired.fire_at), fired_at=rfc3339(fired.fire_at),
                     trigger="manual", outcome=fired.outcome, job_id=fired.job,
                     message=fired.message)  # fmt: skip


@router.post("/{schedule_id}/pause", responses=problems(404, 409, 507),
             response_model_exclude_none=True)  # fmt: skip
async def pause_schedule(schedule: TheSchedule, backend: TheBackend) -> ScheduleShown:
    """Let its slots pass until it is resumed; a run that goes on is left alone."""
    return await _set_enabled(backend, schedule, enabled=False)


@router.post("/{schedule_id}/resume", responses=problems(404, 409, 507),
             response_model_exclude_none=True)  # fmt: skip
async def resume_schedule(schedule: TheSchedule, backend: TheBackend) -> ScheduleShown:
    """Go on with the next slot; those that passed meanwhile are not caught up on."""
    return await _set_enabled(backend, schedule, enabled=True)


@router.get("/{schedule_id}/runs", responses=problems(404), response_model_exclude_none=True)
async def list_schedule_runs(
    schedule: TheSchedule, backend: TheBackend, limit: Limit = 50, cursor: Cursor = None
) -> SlotList:
    """What its slots came to, the newest first."""
    before = int(cursor) if cursor else LATEST

    def look(connection: Connection) -> list[listing.ListedFiring]:
        row = lookup.find(connection, schedule)
        return listing.list_firings(connection, row.id, before=before, most=limit + 1)

    rows = await backend.read(look)
    onward = str(rows[limit - 1].fire_at) if len(rows) > limit else None
    return SlotList(runs=[slot_shown(r) for r in rows[:limit]], limit=limit, next_cursor=onward)


async def _set_enabled(backend: TheBackend, schedule: str, *, enabled: bool) -> ScheduleShown:
    now = backend.clock.now()

    def change(connection: Connection) -> lookup.Schedule:
        row = lookup.locked(connection, schedule)
        if row.enabled == enabled:
            state, asked = ("not paused", "resumed") if enabled else ("paused already", "paused")
            raise WrongState(f"Schedule {row.name}", state, asked)
        return changing.set_enabled(connection, row, enabled=enabled, now=now)

    return as_shown(await backend.schedules.change(change), now=now)
