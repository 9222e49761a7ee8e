"""Schedules as they are said and shown."""

from typing import Any, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, model_validator

from curtsy.api import examples
from curtsy.api.article_shapes import ArticlesRequest
from curtsy.api.crawl_shapes import CrawlRequest
from curtsy.api.fetch_shapes import FetchRequest
from curtsy.api.moments import Moment, as_told
from curtsy.api.next_firings import Next, next_firings, unknown_zone
from curtsy.api.run_shapes import ScrapeRequest
from curtsy.api.words import word
from curtsy.clock import MINUTE, rfc3339
from curtsy.errors import BadRequest
from curtsy.model.jobs import JobState
from curtsy.schedule.duties import NOT_BUILT
from curtsy.schedule.verdict import LONGEST_WINDOW, CatchUp, Overlap
from curtsy.timetable import (
    BadRule,
    Cron,
    Every,
    Once,
    Rule,
    checked,
    from_json,
    in_words,
)

LONGEST_LISTED = 4_000
"""Of a payload in a list; a longer one is shown where one schedule is asked for."""
Duty = Literal["health", "reports", "dead_letters", "cleanup"]


class Payload(BaseModel):
    """What a slot does: one of these."""

    model_config = ConfigDict(extra="forbid", strict=True)

    articles: ArticlesRequest | None = None
    crawl: CrawlRequest | None = None
    fetch: FetchRequest | None = None
    run: ScrapeRequest | None = None
    """Of a site."""
    duty: Duty | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        said = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(said) != 1:
            raise ValueError("say one of articles, crawl, fetch, run and duty")
        inner = getattr(self, said[0])
        for name in ("schedule_at", "interval", "finish_by", "dry_run"):
            if getattr(inner, name, None):
                raise ValueError(f"{said[0]}.{name} is not for a job that a schedule makes")
        return self


class _Terms(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = Field(None, min_length=1, max_length=200, pattern=r"^[^/\x00-\x1f]+$")
    cron: str | None = Field(None, max_length=200)
    """Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`."""
    every_minutes: int | None = None
    at: Moment | None = None
    """Once, at this moment."""
    timezone: str | None = Field(None, max_length=100)
    """In which cron is meant and firings are shown; an IANA name."""
    jitter: bool | None = None
    """Of `every_minutes`: up to a tenth earlier or later, always the same for a slot."""
    after_end: bool | None = None
    """Of `every_minutes`: counted from the end of the last run, not from slot to slot."""
    not_before: Moment | None = None
    """No slot comes sooner; of a change, null takes it away."""
    overlap: Overlap | None = Field(None, strict=False)
    catch_up: CatchUp | None = Field(None, strict=False)
    catch_up_minutes: int | None = Field(None, ge=1, le=LONGEST_WINDOW // MINUTE)
    """Slots that were missed longer ago are not caught up on."""
    enabled: bool | None = None


class ScheduleRequest(_Terms):
    model_config = ConfigDict(
        extra="forbid", strict=True,
        json_schema_extra=examples.shown(examples.SCHEDULE, examples.SCHEDULE_OF_DUTY),
    )  # fmt: skip

    payload: Payload


class ScheduleChanges(_Terms):
    """What is not said stays as it is."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=examples.shown(examples.SCHEDULE_CHANGED)
    )

    payload: Payload | None = None


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


def rule_of(said: _Terms, before: Rule | None = None) -> Rule:
    """The rule that is said; of a change, with what the one before had. Raises `BadRequest`."""
    kinds = [name for name in ("cron", "every_minutes", "at") if getattr(said, name) is not None]
    if len(kinds) > 1 or not (kinds or before):
        raise BadRequest(["Say one of cron, every_minutes and at."])
    every = isinstance(before, Every) if not kinds else kinds == ["every_minutes"]
    if not every and (said.jitter is not None or said.after_end is not None):
        raise BadRequest(["jitter and after_end belong to every_minutes."])
    try:
        return checked(_said(said, before))
    except BadRule as wrong:
        raise BadRequest([str(wrong)]) from None


def _said(said: _Terms, before: Rule | None) -> Rule:
    if said.at is not None:
        return Once(int(said.at.timestamp() * 1000))
    if said.cron is not None or (isinstance(before, Cron) and said.every_minutes is None):
        old = before if isinstance(before, Cron) else Cron(said.cron or "")
        return Cron(said.cron or old.line, said.timezone or old.timezone)
    if said.every_minutes is not None or isinstance(before, Every):
        was = before if isinstance(before, Every) else Every(said.every_minutes or 0)
        return Every(
            was.minutes if said.every_minutes is None else said.every_minutes,
            was.jitter if said.jitter is None else said.jitter,
            was.after_end if said.after_end is None else said.after_end,
        )
    assert before is not None
    return before


def as_shown(row: Any, *, now: int | None = None) -> ScheduleShown:
    """With `now` also the next firings."""
    rule = from_json(row.rule)
    payload = orjson.loads(row.payload)
    if now is None and len(row.payload) > LONGEST_LISTED:
        payload = {
            door: f"{len(row.payload)} bytes: ask for this schedule alone" for door in payload
        }
    return ScheduleShown(
        id=row.public_id, name=row.name, when=in_words(rule), **_rule_fields(rule),
        timezone=row.timezone, not_before=as_told(row.not_before), overlap=Overlap(row.overlap),
        catch_up=CatchUp(row.catch_up), catch_up_minutes=row.window_ms // MINUTE,
        enabled=bool(row.enabled), state=_state(row), next_run=as_told(row.next_fire_at),
        next_runs=None if now is None else next_firings(row, rule),
        last_run=as_told(row.last_fire_at), payload=payload, user_id=row.user_id,
        note=_note(payload, row.timezone), created_at=rfc3339(row.created_at),
        updated_at=rfc3339(row.updated_at),
    )  # fmt: skip


def as_listed(row: Any) -> ScheduleShown:
    listed = as_shown(row)
    state = JobState(row.last_state) if row.last_state else None
    listed.last_outcome = word(row.last_door, state, row.last_done) if state else row.last_outcome
    return listed


def slot_shown(row: Any) -> SlotShown:
    status = word(row.door, JobState(row.state), row.done) if row.job else None
    return SlotShown(
        fire_at=rfc3339(row.fire_at), fired_at=rfc3339(row.fired_at), trigger=row.trigger,
        outcome=row.outcome, job_id=row.job, status=status, message=row.message,
    )  # fmt: skip


def _rule_fields(rule: Rule) -> dict[str, Any]:
    match rule:
        case Once():
            return {"at": rfc3339(rule.at)}
        case Cron():
            return {"cron": rule.line}
        case Every():
            return {"every_minutes": rule.minutes, "jitter": rule.jitter,
                    "after_end": rule.after_end}  # fmt: skip


def _state(row: Any) -> Literal["waiting", "paused", "done"]:
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
