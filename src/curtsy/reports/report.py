"""A report on a period: what happened, what needs attention, and how polite it was.

These classes are the report in every form: as values here, as JSON in the table `stored_reports`
and in the API, and as the input of the HTML page. A new field needs a default: stored reports of
earlier versions have to be read.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter, WithJsonSchema

from curtsy.clock import MINUTE, rfc3339

Trigger = Literal["schedule", "manual"]


def _milliseconds(instant: object) -> object:
    """Returns the instant of an RFC 3339 text; leaves anything else to the validation."""
    if not isinstance(instant, str):
        return instant
    return round(datetime.fromisoformat(instant).timestamp() * 1_000)


Instant = Annotated[
    int,
    BeforeValidator(_milliseconds),
    PlainSerializer(rfc3339, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""Milliseconds here, RFC 3339 in JSON."""


@dataclass(frozen=True, slots=True)
class ReportFigures:
    """The headline figures of a span of time."""

    succeeded: int = 0
    """Pages that ended well."""
    failed: int = 0
    """Pages that were given up."""
    attempts: int = 0
    retries: int = 0
    bytes: int = 0
    new_dead_letters: int = 0
    success_rate: float | None = None
    """Of the pages that ended; None: none did."""
    pages_per_minute: float = 0.0
    fetch_p50_ms: int | None = None
    fetch_p95_ms: int | None = None
    fetch_p99_ms: int | None = None

    @property
    def ended(self) -> int:
        return self.succeeded + self.failed


@dataclass(frozen=True, slots=True)
class Point:
    """One bucket of the charts."""

    at: Instant
    until: Instant
    succeeded: int
    failed: int
    fetch_p50_ms: int | None = None
    fetch_p95_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SourceLine:
    source: str
    succeeded: int
    failed: int
    fetch_p50_ms: int | None = None
    fetch_p95_ms: int | None = None
    failed_before: int | None = None
    """In the period before; None: it had no page there."""
    fetch_p95_ms_before: int | None = None
    worst_kind: str | None = None
    """The failure kind that most of its failed pages had."""

    @property
    def ended(self) -> int:
        return self.succeeded + self.failed


@dataclass(frozen=True, slots=True)
class FailureLine:
    kind: str
    number: int
    before: int
    means: str
    remedy: str


@dataclass(frozen=True, slots=True)
class LetterLine:
    kind: str
    open: int
    capped: bool
    """More are open than were counted."""
    new: int
    """Given up within the period, among those that were counted."""
    means: str


@dataclass(frozen=True, slots=True)
class Waits:
    """For how long pages waited before their requests, summed, by reason."""

    capacity_ms: int = 0
    """For a free worker: the only backlog among them."""
    politeness_ms: int = 0
    closed_ms: int = 0
    backoff_ms: int = 0

    @property
    def whole(self) -> int:
        return self.capacity_ms + self.politeness_ms + self.closed_ms + self.backoff_ms


@dataclass(frozen=True, slots=True)
class GapLine:
    source: str
    smallest_gap_ms: int
    allowed_gap_ms: int
    """By the policy of the source at the time of the report."""


@dataclass(frozen=True, slots=True)
class Courtesy:
    """How sites were treated on the days (UTC) that the period touches, from the receipts."""

    first_day: str
    last_day: str
    sources: int = 0
    """Sources that were requested."""
    requests: int = 0
    robots_refusals: int = 0
    rests_announced: int = 0
    rests_of_our_own: int = 0
    not_modified: int = 0
    bytes: int = 0
    bytes_saved: int = 0
    too_close: int = 0
    """Sources with two requests closer together than allowed."""
    closest: tuple[GapLine, ...] = ()
    """Sources whose smallest gap is nearest to the allowed one."""


@dataclass(frozen=True, slots=True)
class SiteLine:
    site: str
    runs: int
    failed_runs: int
    new: int
    changed: int
    removed: int


@dataclass(frozen=True, slots=True)
class ReportSites:
    runs: int = 0
    failed_runs: int = 0
    new: int = 0
    changed: int = 0
    removed: int = 0
    capped: bool = False
    """Records of only the newest runs were counted."""
    lines: tuple[SiteLine, ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleLine:
    schedule: str
    fired: int
    late: int
    missed: int
    refused: int


@dataclass(frozen=True, slots=True)
class Schedules:
    fired: int = 0
    late: int = 0
    """Slots that fired more than a minute after their time."""
    missed: int = 0
    skipped: int = 0
    refused: int = 0
    largest_lag_ms: int | None = None
    lines: tuple[ScheduleLine, ...] = ()
    """Schedules with a slot that was late, missed or refused."""


@dataclass(frozen=True, slots=True)
class WorkerLine:
    worker: str
    machine: str
    pid: int
    alive: bool
    started_at: Instant
    slots: int
    open_requests: int
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that an operator should know first."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Report:
    id: str
    at: Instant
    since: Instant
    until: Instant
    covered_since: Instant | None
    """From where there are figures; None: the period has none."""
    trigger: Trigger
    version: str
    figures: ReportFigures
    before: ReportFigures | None = None
    """Of a span of the same length, just before; None: there are no figures of it."""
    findings: tuple[Finding, ...] = ()
    series: tuple[Point, ...] = ()
    slowest: tuple[SourceLine, ...] = ()
    failing: tuple[SourceLine, ...] = ()
    failures: tuple[FailureLine, ...] = ()
    letters: tuple[LetterLine, ...] = ()
    waits: Waits = Waits()
    courtesy: Courtesy = Courtesy("", "")
    sites: ReportSites = ReportSites()
    schedules: Schedules = Schedules()
    workers: tuple[WorkerLine, ...] = ()
    workers_alive: int = 0
    workers_in_all: int = 0
    waiting: int = 0
    """Visits that wait at the end, counted up to a cap."""
    waiting_is_capped: bool = False

    @property
    def minutes(self) -> int:
        return max(1, round((self.until - self.since) / MINUTE))

    @property
    def open_letters(self) -> int:
        return sum(line.open for line in self.letters)


@cache
def _adapter() -> TypeAdapter[Report]:
    """Takes milliseconds to build, which only those who need it spend."""
    return TypeAdapter(Report)


def new_report_id() -> str:
    return f"rep_{secrets.token_hex(6)}"


def to_json(report: Report) -> bytes:
    return _adapter().dump_json(report)


def json_schemas(ref_template: str) -> dict[str, Any]:
    """The JSON schemas of a report and of its parts, by name."""
    schema = _adapter().json_schema(mode="serialization", ref_template=ref_template)
    parts: dict[str, Any] = schema.pop("$defs")
    return parts | {Report.__name__: schema}


def from_json(stored: bytes) -> Report:
    return _adapter().validate_json(stored)
