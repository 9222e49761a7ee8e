"""Explanations of why a job, a page or a source waits."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, Field

from curtsy.clock import HOUR, rfc3339, rfc3339_or_none
from curtsy.explain.blockers import Blocker
from curtsy.explain.why import Why, WhyJob, WhySource


class Reason(BaseModel):
    """One reason why something waits."""

    code: str = Field(examples=["retry_after"])
    """For programs; docs/reference/reasons.md lists all codes."""
    because: str
    """For people: the reason as a sentence."""
    until: str | None = None
    """When the reason ends by itself; null: when something else happens."""
    frees: str | None = None
    """What would end the wait earlier."""
    data: dict[str, Any] = Field(default_factory=dict)


class Waiting(BaseModel):
    """Why a page or a source waits."""

    name: str
    state: str = Field(examples=["waiting"])
    """`waiting`, `ready`, `in_flight`, `held`, `idle` or `ended`."""
    reasons: list[Reason]
    ahead: int | None = None
    """Visits that are fetched first; for a source, the number of waiting visits."""
    predicted_start_at: str | None = None
    as_of: str


class SourceOfJob(BaseModel):
    """What a job waits for at one source."""

    source: str
    pages: int
    ahead: int
    """Visits that are fetched before the job's first page."""
    reasons: list[Reason]
    predicted_start_at: str | None
    predicted_finish_at: str | None
    """Both null: the source waits for a person, so no prediction is possible."""


class Ledger(BaseModel):
    """Where the time of the job's pages went: hours, summed over the pages."""

    capacity: float
    """No worker had a free slot."""
    politeness: float
    """Other pages of the same source were fetched first, at its pace, or the source was paused."""
    closed_hours: float
    backoff: float
    """Rests after failures, and waits between attempts."""
    fetching: float


class JobWaiting(BaseModel):
    """Why a job waits."""

    job_id: str
    state: str = Field(examples=["running"])
    """The state in the engine's terms, or `paused`."""
    reasons: list[Reason]
    """Reasons that hold the whole job."""
    sources: list[SourceOfJob]
    """At most twenty, the last to end first."""
    more_sources: int = 0
    eta: str | None = None
    finish_by: str | None = None
    in_time: bool | None = None
    """Whether the job is predicted to end by `finish_by`."""
    ledger: Ledger
    as_of: str


def waiting(why: Why, now: int) -> Waiting:
    return Waiting(
        name=why.name,
        state=why.state,
        reasons=reasons(why.blockers),
        ahead=why.ahead,
        predicted_start_at=rfc3339_or_none(why.predicted_start_at),
        as_of=rfc3339(now),
    )


def job_waiting(why: WhyJob, now: int) -> JobWaiting:
    row = why.row
    return JobWaiting(
        job_id=row.public_id,
        state=row.state_shown,
        reasons=reasons(why.blockers),
        sources=[_source(source) for source in why.sources],
        more_sources=why.more_sources,
        eta=rfc3339_or_none(why.finish_at),
        finish_by=rfc3339_or_none(row.finish_by),
        in_time=why.in_time,
        ledger=Ledger(
            **{
                "closed_hours" if name == "closed" else name: round(spent / HOUR, 4)
                for name, spent in why.ledger.items()
            }
        ),
        as_of=rfc3339(now),
    )


def _source(why: WhySource) -> SourceOfJob:
    outlook = why.outlook
    return SourceOfJob(
        source=outlook.snapshot.row.name,
        pages=outlook.pages,
        ahead=outlook.ahead,
        reasons=reasons(why.blockers),
        predicted_start_at=rfc3339(outlook.first_start_at) if why.moves else None,
        predicted_finish_at=rfc3339(outlook.last_start_at) if why.moves else None,
    )


def reasons(blockers: Iterable[Blocker]) -> list[Reason]:
    return [
        Reason(
            code=b.code,
            because=b.because,
            until=rfc3339_or_none(b.until),
            frees=b.frees,
            data=b.data,
        )
        for b in blockers
    ]
