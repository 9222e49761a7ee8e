"""Bodies that create or change a schedule, and the payloads that schedules store."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from curtsy.clock import MINUTE
from curtsy.errors import BadRequest
from curtsy.requests import examples
from curtsy.requests.articles import ArticlesRequest
from curtsy.requests.crawl import CrawlRequest
from curtsy.requests.fetch import FetchRequest
from curtsy.requests.instants import Moment
from curtsy.requests.runs import ScrapeRequest
from curtsy.schedules.verdict import LONGEST_WINDOW, CatchUp, Overlap
from curtsy.timetable import BadRule, Cron, Every, Once, Rule, checked

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
