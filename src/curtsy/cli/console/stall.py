"""Notices that no page of a job ends any more, reads why, and whether waiting can help."""

import time
from contextlib import suppress
from datetime import datetime
from typing import Any

from curtsy.cli.console.text import one_line
from curtsy.client import AsyncJob, Status
from curtsy.errors import CurtsyError

LOOK_AFTER = 2.0
"""Seconds without the end of a page after which the reason is read."""
LOOK_AGAIN = 5.0
"""Seconds after which it is read again: a reason changes seldom, and each reading is a request."""
NEED_SOMEBODY = ("no_worker", "workers_drain", "job_paused", "source_paused", "source_disabled")
TELLING = ("backoff", "retry_after", "closed_hours", "hourly_limit", "handover", "scheduled")
"""Codes of reasons; those that explain more than a delay or a queue are told first."""


class Stall:
    def __init__(self, job: AsyncJob, *, quiet: bool, give_up: float | None) -> None:
        """`give_up`: after so many seconds without the end of a page, `is_hopeless` may be set."""
        self._job, self._quiet, self._give_up = job, quiet, give_up
        self._ended, self._since, self._read_at = -1, time.monotonic(), 0.0
        self.sentence: str | None = None
        """What the job waits for; None: pages end, or nothing is known."""
        self.until: datetime | None = None
        """When that reason ends; None: nobody knows."""
        self.is_hopeless = False
        """No host that the job waits for answers, and has not for as long as `give_up`."""

    async def look(self, status: Status) -> None:
        """Called with each status of the job."""
        now, ended = time.monotonic(), status.completed + status.failed
        if ended != self._ended or status.is_over:
            self._ended, self._since = ended, now
            self.sentence = self.until = None
            return
        is_late = self._give_up is not None and now - self._since >= self._give_up
        is_due = now - self._read_at >= LOOK_AGAIN and now - self._since >= LOOK_AFTER
        if not (is_late or (is_due and not self._quiet)):
            return
        with suppress(CurtsyError):  # the API is away for a moment, or does not tell us
            why = await self._job.why()
            self.sentence, self.until = sentence_of(why), _end_of(_first_reason(why))
            self.is_hopeless = is_late and nobody_answers(why)
        self._read_at = time.monotonic()


def sentence_of(why: dict[str, Any]) -> str | None:
    reason = _first_reason(why)
    return one_line(reason["because"]) if reason is not None else None


def _first_reason(why: dict[str, Any]) -> dict[str, Any] | None:
    """The reason that explains most; among equals, the one that lasts longest."""
    whole = [reason for reason in why["reasons"] if reason["code"] not in ("links", "ended")]
    found = whole or [reason for source in why["sources"] for reason in source["reasons"]]
    return max(found, key=_weight) if found else None


def _end_of(reason: dict[str, Any] | None) -> datetime | None:
    if reason is None or not reason["until"]:
        return None
    try:
        return datetime.fromisoformat(reason["until"])
    except ValueError:
        return None


def nobody_answers(why: dict[str, Any]) -> bool:
    """Whether each source that the job waits for rests after connections that got no answer."""
    sources = why["sources"]
    return bool(sources) and not why["more_sources"] and all(
        any(r["code"] == "backoff" and r["data"].get("status") is None for r in source["reasons"])
        for source in sources
    )  # fmt: skip


def _weight(reason: dict[str, Any]) -> tuple[int, str]:
    code, until = reason["code"], reason["until"] or ""
    if code in NEED_SOMEBODY:
        return 3, until
    return (2 if code in TELLING else 1 if until else 0), until
