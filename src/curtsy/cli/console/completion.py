"""Completes job ids and the names of sources, sites and schedules on the Tab key."""

import os
from typing import Any

import typer

from curtsy.cli.console.api_connection import list_jobs, open_api
from curtsy.cli.console.runner import run
from curtsy.errors import CurtsyError

JOBS_OFFERED = 20
SOURCES_READ = 200
SCHEDULES_READ = 200


def source_names(context: typer.Context, incomplete: str) -> list[str]:
    """Described sources first, then the others."""
    url = context.params.get("url") or os.environ.get("CURTSY_URL")
    try:
        found = run(_sources(url))
    except CurtsyError:
        return []
    return [one["name"] for one in found if one["name"].startswith(incomplete)]


async def _sources(url: str | None) -> list[dict[str, Any]]:
    async with open_api(url) as api:
        found = await api.request("GET", "/sources", query={"limit": SOURCES_READ})
        return sorted(found["sources"], key=lambda one: not one["described"])


def schedule_names(context: typer.Context, incomplete: str) -> list[str]:
    url = context.params.get("url") or os.environ.get("CURTSY_URL")
    try:
        found = run(_schedules(url))
    except CurtsyError:
        return []
    return [one["name"] for one in found if one["name"].startswith(incomplete)]


async def _schedules(url: str | None) -> list[dict[str, Any]]:
    async with open_api(url) as api:
        found = await api.request("GET", "/schedules", query={"limit": SCHEDULES_READ})
        schedules: list[dict[str, Any]] = found["schedules"]
        return schedules


def site_names(context: typer.Context, incomplete: str) -> list[str]:
    url = context.params.get("url") or os.environ.get("CURTSY_URL")
    try:
        found = run(_sites(url))
    except CurtsyError:
        return []
    return [name for name in found if name.startswith(incomplete)]


async def _sites(url: str | None) -> list[str]:
    async with open_api(url) as api:
        found = await api.request("GET", "/jobs/sites")
        return [one["site_name"] for one in found["data"]["sites"]]


def job_ids(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The newest jobs with their status, from the API of --url or else the local database."""
    url = context.params.get("url") or os.environ.get("CURTSY_URL")
    try:
        found = run(list_jobs(url, {"limit": JOBS_OFFERED}))
    except CurtsyError:
        return []
    rows = [(job["id"], job["state"]) for job in found["jobs"]]
    return [row for row in rows if row[0].startswith(incomplete)]
