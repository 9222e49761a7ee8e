"""What the schedules will do, as it is shown."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal

from pydantic import BaseModel

from curtsy.clock import SECOND, rfc3339, rfc3339_or_none
from curtsy.schedules.preview.simulation import Preview, SimulationResult, Slot
from curtsy.schedules.verdict import Overlap

MOST_HOURS_SHOWN = 100
MOST_SHOWN = 100


class ForetoldSlot(BaseModel):
    schedule: str
    fire_at: str
    outcome: Literal["fired", "skipped", "waiting", "refused"]
    starts_at: str | None
    """Later where it waits for the run before."""
    pages: int
    pages_at_most: int
    """Where links are followed."""
    ends_at: str | None
    """None: there is nothing to end, or a source that it asks is paused."""
    ends_at_most: str | None


class BusyHour(BaseModel):
    source: str
    hour: str
    pages: int
    pages_at_most: int


class ForetoldClash(BaseModel):
    source: str
    schedules: list[str]
    """Two: one asks the source while pages of the other wait there."""
    first_at: str
    times: int
    certain: bool
    """False: only if a crawl finds as much as it may fetch."""


class ForetoldOverrun(BaseModel):
    schedule: str
    first_at: str
    times: int
    """Slots that cannot end before the next."""
    takes_seconds: float | None
    """The first of them; None: nobody can tell, since a source is paused."""
    next_after_seconds: float
    overlap: Overlap
    """What becomes of the next slot."""
    certain: bool


class SchedulerPlan(BaseModel):
    since: str
    until: str
    capped: bool
    """It was too much to look at all of it: it is foretold until `until` only, or not for all."""
    schedules: int
    slots_total: int
    fired: int
    skipped: int
    pages: int
    pages_at_most: int
    slots: list[ForetoldSlot]
    """The first of them."""
    busiest: list[BusyHour]
    """Sources by the hour, the busiest first; at most a hundred."""
    clashes: list[ForetoldClash]
    overruns: list[ForetoldOverrun]


def plan_shown(
    found: Preview, *, now: int, limit: int, schedules: int, all_of_them: bool
) -> SchedulerPlan:
    least, most = found.least, found.most
    return SchedulerPlan(
        since=rfc3339(now), until=rfc3339(min(least.until, most.until)),
        capped=least.capped or most.capped or not all_of_them, schedules=schedules,
        slots_total=len(least.slots),
        fired=sum(slot.outcome == "fired" for slot in least.slots),
        skipped=sum(slot.outcome == "skipped" for slot in least.slots),
        pages=sum(least.starts.values()), pages_at_most=sum(most.starts.values()),
        slots=list(_slots(found, limit)), busiest=list(_busiest(found)),
        clashes=_clashes(found), overruns=_overruns(found),
    )  # fmt: skip


def _slots(found: Preview, limit: int) -> Iterator[ForetoldSlot]:
    at_most = {(slot.schedule.id, slot.at): slot for slot in found.most.slots}
    for slot in found.least.slots[:limit]:
        other = at_most.get((slot.schedule.id, slot.at), slot)
        yield ForetoldSlot(
            schedule=slot.schedule.name, fire_at=rfc3339(slot.at), outcome=slot.outcome,
            starts_at=rfc3339_or_none(slot.starts_at), pages=slot.pages,
            pages_at_most=max(slot.pages, other.pages), ends_at=rfc3339_or_none(slot.ends_at),
            ends_at_most=rfc3339_or_none(other.ends_at),
        )  # fmt: skip


def _busiest(found: Preview) -> Iterator[BusyHour]:
    least, most = found.least.starts, found.most.starts
    hours = sorted({*least, *most}, key=lambda key: (-most.get(key, 0), -least.get(key, 0), key))
    for source, hour in hours[:MOST_HOURS_SHOWN]:
        pages, at_most = least.get((source, hour), 0), most.get((source, hour), 0)
        yield BusyHour(source=source, hour=rfc3339(hour), pages=pages,
                       pages_at_most=max(pages, at_most))  # fmt: skip


def _clashes(found: Preview) -> list[ForetoldClash]:
    """Those that are sure first."""
    sure = {(clash.source, clash.names) for clash in found.least.clashes}
    may_be = [c for c in found.most.clashes if (c.source, c.names) not in sure]
    told = [
        ForetoldClash(source=clash.source, schedules=list(clash.names), times=clash.times,
                      first_at=rfc3339(clash.first_at), certain=certain)
        for certain, clashes in ((True, found.least.clashes), (False, may_be))
        for clash in sorted(clashes, key=lambda clash: -clash.times)
    ]  # fmt: skip
    return told[:MOST_SHOWN]


def _overruns(found: Preview) -> list[ForetoldOverrun]:
    sure = list(_overrun(found.least, certain=True))
    names = {one.schedule for one in sure}
    may_be = [one for one in _overrun(found.most, certain=False) if one.schedule not in names]
    return [*sure, *may_be][:MOST_SHOWN]


def _overrun(told: SimulationResult, *, certain: bool) -> Iterator[ForetoldOverrun]:
    late = sorted((slot for slot in told.slots if slot.overruns), key=_name)
    for name, slots in groupby(late, key=_name):
        first, *others = slots
        assert first.next_at is not None
        yield ForetoldOverrun(
            schedule=name, first_at=rfc3339(first.at), times=1 + len(others),
            takes_seconds=_longest([first, *others]), certain=certain,
            next_after_seconds=(first.next_at - first.at) / SECOND,
            overlap=first.schedule.schedule_state.overlap,
        )  # fmt: skip


def _longest(slots: Iterable[Slot]) -> float | None:
    spans = [slot.ends_at - slot.starts_at for slot in slots
             if slot.ends_at is not None and slot.starts_at is not None]  # fmt: skip
    return max(spans) / SECOND if spans else None


def _name(slot: Slot) -> str:
    return slot.schedule.name
