"""The preview of the schedules: predicted slots, busy hours, clashes and overruns."""

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
    """The predicted outcome of one slot of a schedule."""

    schedule: str
    fire_at: str
    outcome: Literal["fired", "skipped", "waiting", "refused"]
    starts_at: str | None
    """Later than `fire_at` where the slot waits for the previous run."""
    pages: int
    pages_at_most: int
    """Larger than `pages` where links are followed."""
    ends_at: str | None
    """Null: there is nothing to fetch, or one of the sources is paused."""
    ends_at_most: str | None


class BusyHour(BaseModel):
    """The predicted load of a source in one hour."""

    source: str
    hour: str
    pages: int
    pages_at_most: int


class ForetoldClash(BaseModel):
    """Two schedules that compete for one source."""

    source: str
    schedules: list[str]
    """Two names: one schedule fires while pages of the other wait at the source."""
    first_at: str
    times: int
    certain: bool
    """False: only if a crawl finds as many pages as it may fetch."""


class ForetoldOverrun(BaseModel):
    """A schedule whose run is predicted to end after its next slot."""

    schedule: str
    first_at: str
    times: int
    """Slots whose run cannot end before the next slot."""
    takes_seconds: float | None
    """The longest of these runs; null: no prediction, since a source is paused."""
    next_after_seconds: float
    overlap: Overlap
    """The rule for the next slot."""
    certain: bool


class SchedulerPlan(BaseModel):
    since: str
    until: str
    capped: bool
    """True: the preview is incomplete. It ends at `until`, or leaves schedules out."""
    schedules: int
    slots_total: int
    fired: int
    skipped: int
    pages: int
    pages_at_most: int
    slots: list[ForetoldSlot]
    """The first slots, up to `limit`."""
    busiest: list[BusyHour]
    """Hours of sources, the busiest first; at most a hundred."""
    clashes: list[ForetoldClash]
    overruns: list[ForetoldOverrun]


def plan_of(
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
    """Certain clashes come first."""
    certain_pairs = {(clash.source, clash.names) for clash in found.least.clashes}
    possible = [c for c in found.most.clashes if (c.source, c.names) not in certain_pairs]
    clashes = [
        ForetoldClash(source=clash.source, schedules=list(clash.names), times=clash.times,
                      first_at=rfc3339(clash.first_at), certain=certain)
        for certain, group in ((True, found.least.clashes), (False, possible))
        for clash in sorted(group, key=lambda clash: -clash.times)
    ]  # fmt: skip
    return clashes[:MOST_SHOWN]


def _overruns(found: Preview) -> list[ForetoldOverrun]:
    certain = list(_overrun(found.least, certain=True))
    names = {one.schedule for one in certain}
    possible = [one for one in _overrun(found.most, certain=False) if one.schedule not in names]
    return [*certain, *possible][:MOST_SHOWN]


def _overrun(predicted: SimulationResult, *, certain: bool) -> Iterator[ForetoldOverrun]:
    late = sorted((slot for slot in predicted.slots if slot.overruns), key=_name)
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
