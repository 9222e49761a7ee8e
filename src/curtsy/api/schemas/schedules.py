"""Schedules as they are said and shown."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal

import orjson
from pydantic import BaseModel

from curtsy.clock import MINUTE, rfc3339, rfc3339_or_none
from curtsy.maintenance.tasks import NOT_BUILT
from curtsy.model.jobs import JobState
from curtsy.model.status_words import word
from curtsy.schedules.listing import FiredJob, ListedFiring, ListedSchedule
from curtsy.schedules.lookup import Schedule
from curtsy.schedules.verdict import CatchUp, Overlap
from curtsy.timetable import (
    BadRule,
    Cron,
    Every,
    Once,
    Rule,
    checked_zone,
    from_json,
    in_words,
    shown,
    slot_after,
)

LONGEST_LISTED = 4_000
"""Of a payload in a list; a longer one is shown where one schedule is asked for."""


class Next(BaseModel):
    utc: str
    local: str
    clock_changes: bool
    """On this day the zone's clocks are put forward or back."""


class ScheduleShown(BaseModel):
    id: str
    name: str
    when: str
    """The rule in words."""
    cron: str | None = None
    every_minutes: int | None = None
    jitter: bool | None = None
    after_end: bool | None = None
    at: str | None = None
    timezone: str
    not_before: str | None = None
    overlap: Overlap
    catch_up: CatchUp
    catch_up_minutes: int
    enabled: bool
    state: Literal["waiting", "paused", "done"]
    """`done`: it has no slot left."""
    next_run: str | None = None
    next_runs: list[Next] | None = None
    last_run: str | None = None
    last_outcome: str | None = None
    """In a list: the status of the last run's job, or what became of its slot."""
    payload: dict[str, Any]
    user_id: str | None = None
    note: str | None = None
    created_at: str
    updated_at: str


class ScheduleList(BaseModel):
    schedules: list[ScheduleShown]
    limit: int
    next_cursor: str | None = None


class ScheduleRemoved(BaseModel):
    id: str
    message: str


class SlotShown(BaseModel):
    fire_at: str
    fired_at: str
    trigger: Literal["schedule", "manual"]
    outcome: Literal["fired", "waiting", "skipped", "missed", "refused"]
    job_id: str | None = None
    status: str | None = None
    """Of the job, in its door's words."""
    message: str | None = None


class SlotList(BaseModel):
    runs: list[SlotShown]
    limit: int
    next_cursor: str | None = None


def as_shown(row: Schedule, *, now: int | None = None) -> ScheduleShown:
    """With `now` also the next firings."""
    rule = from_json(row.rule)
    payload = orjson.loads(row.payload)
    if now is None and len(row.payload) > LONGEST_LISTED:
        payload = {
            door: f"{len(row.payload)} bytes: ask for this schedule alone" for door in payload
        }
    return ScheduleShown(
        id=row.public_id, name=row.name, when=in_words(rule), **_rule_fields(rule),
        timezone=row.timezone, not_before=rfc3339_or_none(row.not_before),
        overlap=Overlap(row.overlap), catch_up=CatchUp(row.catch_up),
        catch_up_minutes=row.window_ms // MINUTE,
        enabled=row.enabled, state=_state(row), next_run=rfc3339_or_none(row.next_fire_at),
        next_runs=None if now is None else next_firings(row, rule),
        last_run=rfc3339_or_none(row.last_fire_at), payload=payload, user_id=row.user_id,
        note=_note(payload, row.timezone), created_at=rfc3339(row.created_at),
        updated_at=rfc3339(row.updated_at),
    )  # fmt: skip


def as_listed(row: ListedSchedule) -> ScheduleShown:
    listed = as_shown(row.schedule)
    listed.last_outcome = _status(row.last_job) or row.last_outcome
    return listed


def slot_shown(row: ListedFiring) -> SlotShown:
    return SlotShown(
        fire_at=rfc3339(row.fire_at), fired_at=rfc3339(row.fired_at), trigger=row.trigger,
        outcome=row.outcome, job_id=row.job.public_id if row.job is not None else None,
        status=_status(row.job), message=row.message,
    )  # fmt: skip


def _status(job: FiredJob | None) -> str | None:
    return word(job.door, JobState(job.state), job.done) if job is not None else None


def _rule_fields(rule: Rule) -> dict[str, Any]:
    match rule:
        case Once():
            return {"at": rfc3339(rule.at)}
        case Cron():
            return {"cron": rule.line}
        case Every():
            return {"every_minutes": rule.minutes, "jitter": rule.jitter,
                    "after_end": rule.after_end}  # fmt: skip


def _state(row: Schedule) -> Literal["waiting", "paused", "done"]:
    if not row.enabled:
        return "paused"
    return "done" if row.look_at is None else "waiting"


def _note(payload: dict[str, Any], zone: str) -> str | None:
    """What one has to know who wonders why nothing comes of it."""
    notes = []
    if part := NOT_BUILT.get(payload.get("duty", "")):
        notes.append(f"This duty is not built yet: it comes with the part {part!r}.")
    if unknown := unknown_zone(zone):
        notes.append(f"{unknown} Until then its times are shown in UTC.")
    return " ".join(notes) or None


FIRINGS_SHOWN = 5


def next_firings(row: Schedule, rule: Rule) -> list[Next]:
    """As far as they can be foretold: one that waits for an end cannot. Where the zone is not
    known here, in UTC."""
    zone = "UTC" if unknown_zone(row.timezone) else row.timezone
    firings = (shown(at, zone) for at in islice(_slots(row, rule), FIRINGS_SHOWN))
    return [Next(utc=one.utc, local=one.local, clock_changes=one.changes_clock) for one in firings]


def _slots(row: Schedule, rule: Rule) -> Iterator[int]:
    at = row.next_fire_at
    while at is not None:
        yield at
        if isinstance(rule, Every) and rule.after_end:
            return
        try:
            at = slot_after(rule, at, seed=row.public_id)
        except BadRule:  # its own zone is unknown, too
            return


def unknown_zone(name: str) -> str | None:
    """A sentence about it; None: it is known here."""
    try:
        checked_zone(name)
    except BadRule as wrong:
        return str(wrong)
    return None
