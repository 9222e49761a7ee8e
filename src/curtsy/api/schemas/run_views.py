"""Runs of sites as the runs door tells of them."""

from typing import Any

import orjson
from fastapi import Response
from pydantic import BaseModel

from curtsy.api.schemas.envelope import Envelope
from curtsy.api.schemas.runs import Changes, Run, RunStarted, Site
from curtsy.clock import rfc3339_or_none
from curtsy.errors import BadRequest
from curtsy.requests.runs import MOST_RESULTS_IN_SYNC, Mode, ScrapeRequest
from curtsy.sites import runs, site
from curtsy.sites.records import changes_of, sightings
from curtsy.store import Connection
from curtsy.timetable import Cron, Every, from_json


def run_shown(connection: Connection, row: Any) -> Run:
    told = orjson.loads(row.params)
    found = changes_of(connection, row.id)
    is_known = row.gathered_at is not None or any(found.values())
    most = int(told.get("results_wanted", runs.RESULTS_WANTED))
    return Run(
        task_id=runs.task_id(row.public_id), run_id=row.public_id, status=_status(row.state),
        execution_mode=told.get("mode", "async"), site_name=row.site or told.get("site_name", ""),
        trigger="schedule" if row.trigger == "schedule" else "manual",
        site_schedule_id=row.schedule, requested_pages=row.max_pages or row.total,
        completed_pages=row.done, errors_count=row.failed, message=row.message,
        started_at=rfc3339_or_none(row.started_at), finished_at=rfc3339_or_none(row.finished_at),
        changes=Changes(**found) if is_known else None,
        results=sightings(connection, row.id, most=most) if is_known else [],
    )  # fmt: skip


def started(run: str, mode: Mode) -> RunStarted:
    return RunStarted(task_id=runs.task_id(run), run_id=run, status="queued", execution_mode=mode)


def wrapped(data: BaseModel, status: int = 200) -> Response:
    body = Envelope[Any](data=data).model_dump_json()
    return Response(body, status, media_type="application/json")


def in_sync(connection: Connection, asked: ScrapeRequest) -> ScrapeRequest:
    """Who waits for the results waits for a few of them, also where the site has more by itself;
    the page of a country is one page."""
    known = site.known_site(connection, asked.site_name)
    if (
        known is not None
        and known.words.country_url
        and (asked.country or known.words.defaults.country)
    ):
        return asked
    if (asked.results_wanted or 0) > MOST_RESULTS_IN_SYNC:
        raise BadRequest([f"With mode=sync results_wanted is at most {MOST_RESULTS_IN_SYNC}."])
    if known is None or asked.results_wanted is not None:
        return asked
    wanted = known.words.defaults.results_wanted or runs.RESULTS_WANTED
    return asked.model_copy(update={"results_wanted": min(wanted, MOST_RESULTS_IN_SYNC)})


def site_shown(found: site.Site, last_run_at: int | None) -> Site:
    words, row = found.words, found.row
    rule = from_json(row.rule) if row.schedule else None
    return Site(
        site_name=found.name, enabled=bool(row.enabled),
        interval_minutes=rule.minutes if isinstance(rule, Every) else None,
        cron=rule.line if isinstance(rule, Cron) else None,
        min_pause_seconds=words.min_pause_seconds,
        max_pause_seconds=words.max_pause_seconds, max_retries=words.max_retries,
        last_run_at=rfc3339_or_none(last_run_at),
        next_run_at=rfc3339_or_none(row.next_fire_at) if row.schedule else None,
        site_schedule_id=row.schedule,
        search=list(words.searched_by()),
    )  # fmt: skip


def _status(state: str) -> Any:
    return "queued" if state == "scheduled" else state
