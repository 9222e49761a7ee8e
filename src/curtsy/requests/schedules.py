"""Bodies that create or change a schedule, and the payloads that schedules store."""

from typing import Any, Literal, Self

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
    """The work of a slot: exactly one of these."""

    model_config = ConfigDict(extra="forbid", strict=True)

    articles: ArticlesRequest | None = None
    crawl: CrawlRequest | None = None
    fetch: FetchRequest | None = None
    run: ScrapeRequest | None = None
    """A run of a site."""
    duty: Duty | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of articles, crawl, fetch, run and duty")
        inner = getattr(self, given[0])
        for name in ("schedule_at", "interval", "finish_by", "dry_run"):
            if getattr(inner, name, None):
                raise ValueError(f"{given[0]}.{name} cannot be used in a schedule")
        return self

    def scraper_params(self) -> dict[str, Any]:
        """The scraper's parameters that the payload itself has; a site has its own."""
        return self.crawl.params.scraper_params() if self.crawl is not None else {}


class _ScheduleFields(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = Field(None, min_length=1, max_length=200, pattern=r"^[^/\x00-\x1f]+$")
    cron: str | None = Field(None, max_length=200)
    """Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`."""
    every_minutes: int | None = None
    at: Moment | None = None
    """Fire once, at this instant."""
    timezone: str | None = Field(None, max_length=100)
    """The time zone of `cron` and of displayed firings; an IANA name."""
    jitter: bool | None = None
    """For `every_minutes`: shift slots by up to a tenth of the interval; a slot's shift never
    changes."""
    after_end: bool | None = None
    """For `every_minutes`: count from the end of the last run, not from the last slot."""
    not_before: Moment | None = None
    """No slot fires earlier; null in a change removes the limit."""
    overlap: Overlap | None = Field(None, strict=False)
    catch_up: CatchUp | None = Field(None, strict=False)
    catch_up_minutes: int | None = Field(None, ge=1, le=LONGEST_WINDOW // MINUTE)
    """Slots that were missed longer ago are not caught up on."""
    enabled: bool | None = None


class ScheduleRequest(_ScheduleFields):
    model_config = ConfigDict(
        extra="forbid", strict=True,
        json_schema_extra=examples.shown(examples.SCHEDULE, examples.SCHEDULE_OF_DUTY),
    )  # fmt: skip

    payload: Payload


class ScheduleChanges(_ScheduleFields):
    """Fields that are not given stay as they are."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=examples.shown(examples.SCHEDULE_CHANGED)
    )

    payload: Payload | None = None


def rule_of(body: _ScheduleFields, before: Rule | None = None) -> Rule:
    """Builds the rule of a body; for a change, missing fields come from the rule before. Raises
    `BadRequest`."""
    kinds = [name for name in ("cron", "every_minutes", "at") if getattr(body, name) is not None]
    if len(kinds) > 1 or not (kinds or before):
        raise BadRequest(["Give exactly one of cron, every_minutes and at."])
    every = isinstance(before, Every) if not kinds else kinds == ["every_minutes"]
    if not every and (body.jitter is not None or body.after_end is not None):
        raise BadRequest(["jitter and after_end can only be used with every_minutes."])
    try:
        return checked(_parse_rule(body, before))
    except BadRule as wrong:
        raise BadRequest([str(wrong)]) from None


def _parse_rule(body: _ScheduleFields, before: Rule | None) -> Rule:
    if body.at is not None:
        return Once(int(body.at.timestamp() * 1000))
    if body.cron is not None or (isinstance(before, Cron) and body.every_minutes is None):
        old = before if isinstance(before, Cron) else Cron(body.cron or "")
        return Cron(body.cron or old.line, body.timezone or old.timezone)
    if body.every_minutes is not None or isinstance(before, Every):
        was = before if isinstance(before, Every) else Every(body.every_minutes or 0)
        return Every(
            was.minutes if body.every_minutes is None else body.every_minutes,
            was.jitter if body.jitter is None else body.jitter,
            was.after_end if body.after_end is None else body.after_end,
        )
    assert before is not None
    return before
