"""Schedules: what is fetched when, what became of their slots, and what is to come."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Unpack
from urllib.parse import quote

from curtsy.client.answers import (
    Queued,
    Schedule,
    ScheduleList,
    ScheduleRemoved,
    SchedulerPlan,
    SchedulerStatus,
    SchedulerTick,
    Slot,
    SlotList,
)
from curtsy.client.bodies import ScheduleBody, ScheduleChanges
from curtsy.client.faces import Face, Resource, call, each
from curtsy.client.request_bodies import schedule as schedule_body


class Schedules(Resource[Face]):
    """Schedules by id or name."""

    @each
    async def list(self) -> AsyncGenerator[Schedule]:
        """Yields all schedules."""
        async with aclosing(self._pages(ScheduleList, "/schedules")) as pages:
            async for page in pages:
                for schedule in page.schedules:
                    yield schedule

    @call
    async def get(self, schedule: str) -> Schedule:
        """Returns a schedule with its next slots and its whole payload."""
        return await self._ask(Schedule, "GET", _path(schedule))

    @call
    async def add(self, **schedule: Unpack[ScheduleBody]) -> Schedule:
        """Stores a schedule: `add(name="news", cron="0 */2 * * *", payload={"crawl": {…}})`."""
        return await self._ask(Schedule, "POST", "/schedules", body=schedule_body(schedule))

    @call
    async def change(self, schedule: str, /, **changes: Unpack[ScheduleChanges]) -> Schedule:
        """Changes the given fields; the others stay."""
        return await self._ask(Schedule, "PATCH", _path(schedule), body=schedule_body(changes))

    @call
    async def delete(self, schedule: str) -> ScheduleRemoved:
        """Deletes a schedule and its history; running jobs continue."""
        return await self._ask(ScheduleRemoved, "DELETE", _path(schedule))

    @call
    async def pause(self, schedule: str) -> Schedule:
        """Skips its slots until it is resumed."""
        return await self._ask(Schedule, "POST", f"{_path(schedule)}/pause")

    @call
    async def resume(self, schedule: str) -> Schedule:
        return await self._ask(Schedule, "POST", f"{_path(schedule)}/resume")

    @call
    async def run(self, schedule: str, *, priority: int | None = None) -> Slot:
        """Runs a schedule now; its slots do not change."""
        query: dict[str, object] = {"priority": priority}
        return await self._ask(Slot, "POST", f"{_path(schedule)}/run", query=query)

    @each
    async def runs(self, schedule: str) -> AsyncGenerator[Slot]:
        """Yields what became of its slots, the newest first."""
        async with aclosing(self._pages(SlotList, f"{_path(schedule)}/runs")) as pages:
            async for page in pages:
                for slot in page.runs:
                    yield slot

    @call
    async def preview(self, *, hours: int = 168, limit: int | None = None) -> SchedulerPlan:
        """Predicts the slots of the next hours, with clashes and overruns."""
        query: dict[str, object] = {"hours": hours, "limit": limit}
        return await self._ask_enveloped(SchedulerPlan, "GET", "/scheduler/plan", query=query)

    @call
    async def run_due(self) -> tuple[Queued, ...]:
        """Fires the slots that are due, and returns them."""
        return (await self._ask_enveloped(SchedulerTick, "POST", "/scheduler/run")).queued

    @call
    async def status(self) -> SchedulerStatus:
        """Returns how many schedulers run, and how late slots fired."""
        return await self._ask_enveloped(SchedulerStatus, "GET", "/scheduler/status")


def _path(schedule: str) -> str:
    return f"/schedules/{quote(schedule, safe='')}"
