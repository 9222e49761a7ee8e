"""Waiting until a job has ended, with progress."""

import asyncio
from typing import Any

from curtsy.cli.progress import progress
from curtsy.cli.saying import note
from curtsy.client import Declined, Talk
from curtsy.model.jobs import OPEN_STATES

LOOK_EVERY_SECONDS = 0.5
STORE_AWAY = 503


async def until_ended(api: Talk, job: str, total: int, *, quiet: bool = False) -> dict[str, Any]:
    """The job's status once nothing of it waits; a store that is away comes back."""
    with progress(total, quiet=quiet) as tells:
        while True:
            try:
                found: dict[str, Any] = await api.ask("GET", f"/jobs/{job}/status")
            except Declined as declined:
                if declined.status != STORE_AWAY:
                    raise
            else:
                if found["door"] != "fetch":
                    tells(found["completed"], found["failed"], total_of(found))
                if not is_open(found):
                    return found
            await asyncio.sleep(LOOK_EVERY_SECONDS)


def is_open(found: dict[str, Any]) -> bool:
    return found["state"] in OPEN_STATES


def total_of(found: dict[str, Any]) -> int:
    """A job of the fetch door is its one page; a crawl finds more as it goes."""
    return int(found.get("total_articles", found.get("total_pages", 1)))


async def watched(api: Talk, job: str, total: int) -> dict[str, Any]:
    """The same for one who may stop watching: the job goes on without."""
    await warn_if_nobody_fetches(api)
    try:
        return await until_ended(api, job, total)
    except asyncio.CancelledError:
        note(f"The job goes on; `curtsy status {job} --wait` watches it again.")
        raise


async def warn_if_nobody_fetches(api: Talk) -> None:
    if not (await api.health())["workers"]:
        note("No worker is up, so nothing is fetched yet: `curtsy up` starts one.")
