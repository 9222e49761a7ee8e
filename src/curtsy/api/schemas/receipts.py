"""Courtesy receipts: the requests that curtsy sent to a source, day by day."""

from collections.abc import Sequence
from datetime import date, timedelta

from pydantic import BaseModel

from curtsy.clock import SECOND, rfc3339
from curtsy.politeness.receipt import Receipt
from curtsy.sources.source import Source

EPOCH = date(1970, 1, 1)
MOST_DAYS = 92


class ReceiptDay(BaseModel):
    day: str | None = None
    """In UTC; null in the total of all days."""
    requests: int
    """All requests, including those for robots.txt."""
    robots_requests: int
    robots_refusals: int
    """Pages not requested because robots.txt forbids them."""
    smallest_gap_seconds: float | None
    """The smallest gap between two requests."""
    retry_afters_honoured: int
    rests_of_our_own: int
    """Rests after a failure that the site did not ask for."""
    not_modified: int
    bytes: int
    bytes_saved: int
    """Bytes not transferred again, since the page was unchanged."""


class CourtesyReceipt(BaseModel):
    """The requests that curtsy sent to a source, and the limits that it promises to keep."""

    source: str
    hosts: list[str]
    user_agent: str
    """The user agent of the requests."""
    promised_gap_seconds: float
    """By the current policy and the site's robots.txt; 0: only concurrent requests are limited."""
    promised_at_once: int
    promised_requests_per_hour: int | None = None
    obeys_robots: bool
    days: list[ReceiptDay]
    """Newest first; days without a request are left out."""
    total: ReceiptDay
    as_of: str


def receipt_of(
    source: Source, receipts: Sequence[Receipt], *, user_agent: str, now: int
) -> CourtesyReceipt:
    policy = source.policy
    return CourtesyReceipt(
        source=source.row.name,
        hosts=list(source.hosts),
        user_agent=policy.user_agent or user_agent,
        promised_gap_seconds=max(policy.min_delay, source.crawl_delay) / SECOND,
        promised_at_once=policy.concurrency,
        promised_requests_per_hour=policy.requests_per_hour or None,
        obeys_robots=policy.robots,
        days=[_day(receipt) for receipt in receipts],
        total=summed(receipts),
        as_of=rfc3339(now),
    )


def _day(receipt: Receipt) -> ReceiptDay:
    return summed([receipt]).model_copy(
        update={"day": (EPOCH + timedelta(days=receipt.day)).isoformat()}
    )


def summed(receipts: Sequence[Receipt]) -> ReceiptDay:
    gaps = [r.smallest_gap_ms for r in receipts if r.smallest_gap_ms is not None]
    return ReceiptDay(
        requests=sum(r.requests for r in receipts),
        robots_requests=sum(r.robots_requests for r in receipts),
        robots_refusals=sum(r.robots_refusals for r in receipts),
        smallest_gap_seconds=min(gaps) / SECOND if gaps else None,
        retry_afters_honoured=sum(r.rests_announced for r in receipts),
        rests_of_our_own=sum(r.rests_of_our_own for r in receipts),
        not_modified=sum(r.not_modified for r in receipts),
        bytes=sum(r.bytes for r in receipts),
        bytes_saved=sum(r.bytes_saved for r in receipts),
    )
