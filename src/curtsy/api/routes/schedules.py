"""Schedules: creates, changes, runs, pauses and deletes them, and lists their slots."""

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
    listed_schedule_of,
    schedule_of,
    slot_of,
)
from curtsy.clock import rfc3339
from curtsy.errors import WrongState
from curtsy.extract.pattern_check import check_patterns
from curtsy.requests.schedule_specs import changed_spec, new_spec
from curtsy.requests.schedules import ScheduleChanges, ScheduleRequest
from curtsy.schedules import listing, lookup
from curtsy.schedules import schedule as schedule_module
from curtsy.store import Connection

router = APIRouter(
    route_class=JsonRoute, prefix="/schedules", generate_unique_id_function=attrgetter("name")
)
LATEST = 2**62


async def _schedule(schedule_id: str, connection: HTTPConnection, backend: TheBackend) -> str:
    """Returns the id of the schedule with this id or name; other users' schedules return 404."""
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
    """Schedules in the order of their creation."""
    after, user = int(cursor or 0), caller.confined_to
    rows = await backend.read(
        lambda c: listing.list_schedules(c, user=user, after=after, most=limit + 1)
    )
    return ScheduleList(
        schedules=[listed_schedule_of(row) for row in rows[:limit]], limit=limit,
        next_cursor=str(rows[limit - 1].schedule.id) if len(rows) > limit else None,
    )  # fmt: skip


@router.post("", status_code=201, responses=problems(403, 409, 413, 507),
             response_model_exclude_none=True)  # fmt: skip
async def create_schedule(
    body: ScheduleRequest, backend: TheBackend, caller: TheCaller
) -> ScheduleShown:
    """Create a schedule. Its payload is validated as if it were submitted now."""
    await check_patterns(body.payload.scraper_params())
    now = backend.clock.now()

    def create(connection: Connection) -> lookup.Schedule:
        spec = new_spec(connection, body, caller, backend.schedules.check_payload, now)
        return schedule_module.create(connection, spec, now=now)

    return schedule_of(await backend.schedules.change(create), now=now)


@router.get("/{schedule_id}", responses=problems(404), response_model_exclude_none=True)
async def get_schedule(schedule: TheSchedule, backend: TheBackend) -> ScheduleShown:
    """A schedule with its next firings, in its own zone and in UTC."""
    row = await backend.read(lambda c: lookup.find(c, schedule))
    return schedule_of(row, now=backend.clock.now())


@router.patch("/{schedule_id}", responses=problems(403, 404, 409, 413, 507),
              response_model_exclude_none=True)  # fmt: skip
async def update_schedule(
    schedule: TheSchedule, body: ScheduleChanges, backend: TheBackend, caller: TheCaller
) -> ScheduleShown:
    """Change only the given fields of a schedule. A new rule restarts its slots."""
    await check_patterns(body.payload.scraper_params() if body.payload is not None else {})
    now = backend.clock.now()

    def change(connection: Connection) -> lookup.Schedule:
        before = schedule_module.spec_of(lookup.locked(connection, schedule))
        spec = changed_spec(connection, body, before, caller, backend.schedules.check_payload, now)
        return schedule_module.change(connection, schedule, spec, now=now)

    return schedule_of(await backend.schedules.change(change), now=now)


@router.delete("/{schedule_id}", responses=problems(404, 507))
async def delete_schedule(schedule: TheSchedule, backend: TheBackend) -> ScheduleRemoved:
    """Delete a schedule and its history. A job that waits for its slot is cancelled; running jobs
    continue."""
    row = await backend.schedules.change(
        lambda c: schedule_module.remove(c, schedule, now=backend.clock.now())
    )
    return ScheduleRemoved(id=schedule, message=f"{row.name} is removed.")


@router.post("/{schedule_id}/run", status_code=202, responses=problems(404, 409, 429, 507),
             response_model_exclude_none=True)  # fmt: skip
async def run_schedule(
    schedule: TheSchedule,
    backend: TheBackend,
    priority: Annotated[int | None, Query(ge=1, le=10, description="1 is fetched first.")] = None,
) -> SlotShown:
    """Run a schedule now, in addition to its slots, with its own priority or this one. 409 while a
    run is in progress. A duty that takes longer than ten seconds continues in the background."""
    fired = await backend.schedules.run(schedule, priority)
    return SlotShown(fire_at=rfc3339(fired.fire_at), fired_at=rfc3339(fired.fire_at),
                     trigger="manual", outcome=fired.outcome, job_id=fired.job,
                     message=fired.message)  # fmt: skip


@router.post("/{schedule_id}/pause", responses=problems(404, 409, 507),
             response_model_exclude_none=True)  # fmt: skip
async def pause_schedule(schedule: TheSchedule, backend: TheBackend) -> ScheduleShown:
    """Fire no slots of a schedule until it is resumed; a run in progress continues."""
    return await _set_enabled(backend, schedule, enabled=False)


@router.post("/{schedule_id}/resume", responses=problems(404, 409, 507),
             response_model_exclude_none=True)  # fmt: skip
async def resume_schedule(schedule: TheSchedule, backend: TheBackend) -> ScheduleShown:
    """Resume a paused schedule with its next slot; slots that passed meanwhile do not fire."""
    return await _set_enabled(backend, schedule, enabled=True)


@router.get("/{schedule_id}/runs", responses=problems(404), response_model_exclude_none=True)
async def list_schedule_runs(
    schedule: TheSchedule, backend: TheBackend, limit: Limit = 50, cursor: Cursor = None
) -> SlotList:
    """The slots of a schedule with their outcomes, newest first."""
    before = int(cursor) if cursor else LATEST

    def read(connection: Connection) -> list[listing.ListedFiring]:
        row = lookup.find(connection, schedule)
        return listing.list_firings(connection, row.id, before=before, most=limit + 1)

    rows = await backend.read(read)
    next_cursor = str(rows[limit - 1].fire_at) if len(rows) > limit else None
    return SlotList(runs=[slot_of(r) for r in rows[:limit]], limit=limit, next_cursor=next_cursor)


async def _set_enabled(backend: TheBackend, schedule: str, *, enabled: bool) -> ScheduleShown:
    now = backend.clock.now()

    def change(connection: Connection) -> lookup.Schedule:
        row = lookup.locked(connection, schedule)
        if row.enabled == enabled:
            state, action = ("not paused", "resumed") if enabled else ("paused already", "paused")
            raise WrongState(f"Schedule {row.name}", state, action)
        return schedule_module.set_enabled(connection, row, enabled=enabled, now=now)

    return schedule_of(await backend.schedules.change(change), now=now)
