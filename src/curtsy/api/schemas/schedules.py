"""Schedules with their next firings, and the slots that have passed."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal

import orjson
from pydantic import BaseModel

from curtsy.clock import MINUTE, rfc3339, rfc3339_or_none
from curtsy.model.job_states import JobState
from curtsy.model.status_words import word
from curtsy.requests.payload_secrets import masked
from curtsy.schedules.listing import FiredJob, ListedFiring, ListedSchedule
from curtsy.schedules.lookup import Schedule, is_maintenance
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

FIRINGS_SHOWN = 5
LONGEST_LISTED = 4_000
"""Bytes. Lists leave longer payloads out; `GET /schedules/{id}` returns them."""


class Next(BaseModel):
    """A slot to come, in UTC and in the zone of its schedule."""

    utc: str
    local: str
    clock_changes: bool
    """Whether the zone's clocks change on this day."""


class ScheduleShown(BaseModel):
    id: str
    name: str
    kind: Literal["job", "maintenance"]
    """`maintenance`: slots run a duty of curtsy itself, not a job."""
    when: str
    """The rule as text."""
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
    """`done`: the schedule has no slot left."""
    next_run: str | None = None
    next_runs: list[Next] | None = None
    last_run: str | None = None
    last_outcome: str | None = None
    """Only in a list: the status of the last run's job, or the outcome of its slot."""
    payload: dict[str, Any]
    """The values of headers and the paths of webhook URLs are shown as ***; a change that sends
    those back keeps what is stored."""
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
    """A slot that has passed, and its outcome."""

    fire_at: str
    fired_at: str
    trigger: Literal["schedule", "manual"]
    outcome: Literal["fired", "waiting", "skipped", "missed", "refused"]
    job_id: str | None = None
    status: str | None = None
    """The status of the job, in the terms of its door."""
    message: str | None = None


class SlotList(BaseModel):
    runs: list[SlotShown]
    limit: int
    next_cursor: str | None = None


def schedule_of(row: Schedule, *, now: int | None = None) -> ScheduleShown:
    """With `now`, includes the next firings and the whole payload. Secrets are masked for every
    caller, their owner too: keys that only read belong to the same user."""
    rule = from_json(row.rule)
    payload = masked(orjson.loads(row.payload))
    if now is None and len(row.payload) > LONGEST_LISTED:
        payload = {
            door: f"{len(row.payload)} bytes: request this schedule alone" for door in payload
        }
    return ScheduleShown(
        id=row.public_id, name=row.name, kind="maintenance" if is_maintenance(row) else "job",
        when=in_words(rule), **_rule_fields(rule),
        timezone=row.timezone, not_before=rfc3339_or_none(row.not_before),
        overlap=Overlap(row.overlap), catch_up=CatchUp(row.catch_up),
        catch_up_minutes=row.window_ms // MINUTE,
        enabled=row.enabled, state=_state(row), next_run=rfc3339_or_none(row.next_fire_at),
        next_runs=None if now is None else _next_firings(row, rule),
        last_run=rfc3339_or_none(row.last_fire_at), payload=payload, user_id=row.user_id,
        note=_note(row.timezone), created_at=rfc3339(row.created_at),
        updated_at=rfc3339(row.updated_at),
    )  # fmt: skip


def listed_schedule_of(row: ListedSchedule) -> ScheduleShown:
    listed = schedule_of(row.schedule)
    listed.last_outcome = _status(row.last_job) or row.last_outcome
    return listed


def slot_of(row: ListedFiring) -> SlotShown:
    return SlotShown(
        fire_at=rfc3339(row.fire_at), fired_at=rfc3339(row.fired_at), trigger=row.trigger,
        outcome=row.outcome, job_id=row.job.public_id if row.job is not None else None,
        status=_status(row.job), message=row.message,
    )  # fmt: skip


def _next_firings(row: Schedule, rule: Rule) -> list[Next]:
    """Returns the next slots as far as they are known: with `after_end` only one is. Uses UTC where
    the zone is not known here."""
    zone = "UTC" if _unknown_zone(row.timezone) else row.timezone
    firings = (shown(at, zone) for at in islice(_slots(row, rule), FIRINGS_SHOWN))
    return [Next(utc=at.utc, local=at.local, clock_changes=at.changes_clock) for at in firings]


def _unknown_zone(name: str) -> str | None:
    """Returns a sentence about a zone that is not known here; None: the zone is known."""
    try:
        checked_zone(name)
    except BadRule as wrong:
        return str(wrong)
    return None


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


def _note(zone: str) -> str | None:
    """Explains why the schedule shows its times in another zone."""
    unknown = _unknown_zone(zone)
    return f"{unknown} Until then its times are shown in UTC." if unknown else None


def _slots(row: Schedule, rule: Rule) -> Iterator[int]:
    at: int | None = row.next_fire_at
    while at is not None:
        yield at
        if isinstance(rule, Every) and rule.after_end:
            return
        try:
            at = slot_after(rule, at, seed=row.public_id)
        except BadRule:  # the zone of the rule is unknown here
            return


def _status(job: FiredJob | None) -> str | None:
    return word(job.door, JobState(job.state), job.done) if job is not None else None
