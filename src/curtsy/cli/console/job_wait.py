"""Waits until a job has ended and shows its progress; warns where no process would run it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from curtsy.cli.console.output import note
from curtsy.cli.console.progress import progress
from curtsy.cli.console.stall import Stall
from curtsy.cli.console.text import counted, one_line
from curtsy.client import ApiConnection, AsyncJob, Status

FAILURES_SHOWN = 5
PAGE, PAGES_READ = 200, 10
"""Results per request, and requests for results, in which the first failures are looked for."""


@dataclass(frozen=True, slots=True)
class Waited:
    status: Status
    gave_up: str | None = None
    """What the job waits for, if nothing can come of it; None: the job has ended."""


async def _nothing() -> None:
    pass


async def wait_with_progress(
    job: AsyncJob, total: int, *, quiet: bool = False, give_up: float | None = None,
    plain: bool = False, on_status: Callable[[], Awaitable[None]] = _nothing,
) -> Waited:  # fmt: skip
    """Waits until the job has ended, and shows what it waits for. With `give_up` also until no page
    has ended for so many seconds and no host of those that are left answers. Calls `on_status`
    after each status."""
    stall = Stall(job, quiet=quiet, give_up=give_up)
    with progress(total, quiet=quiet, plain=plain) as update:
        async with aclosing(job.poll()) as statuses:
            async for now in statuses:
                await stall.look(now)
                update(now.completed, now.failed, now.total, stall.sentence, stall.until)
                await on_status()
                if stall.is_hopeless:
                    return Waited(now, stall.sentence)
    return Waited(now)


async def watch_job(api: ApiConnection, job_id: str, total: int) -> Status:
    """Waits for a job; Ctrl-C ends the wait, not the job."""
    await warn_without_worker(api)
    try:
        return (await wait_with_progress(AsyncJob(api, job_id), total)).status
    except asyncio.CancelledError:
        note(f"The job goes on; `curtsy status {job_id} --wait` shows its progress again.")
        raise


async def note_failures(api: ApiConnection, job_id: str, ended: Status) -> None:
    """Prints on stderr why a job failed, and why the first of its failed pages did."""
    if ended.body["door"] == "fetch" or not ended.failed:
        return  # the status of a fetch job has its error
    if ended.is_run:
        if ended.body.get("message"):
            note(one_line(ended.body["message"]))
        note(f"`curtsy logs {job_id}` shows what happened.")
        return
    shown = [line async for line in _first_failures(api, job_id)]
    for line in shown:
        note(line)
    if ended.failed > len(shown):
        number = counted(ended.failed - len(shown), "more page")
        note(f"and {number} that failed: `curtsy results {job_id}` shows all.")


async def _first_failures(api: ApiConnection, job_id: str) -> AsyncGenerator[str]:
    """Yields a line for each of the first failures, from a limited number of results."""
    query: dict[str, Any] = {"limit": PAGE, "cursor": None}
    left = FAILURES_SHOWN
    for _ in range(PAGES_READ):
        found = await api.request("GET", f"/jobs/{job_id}/results", query=query)
        failures = [one for one in found["failed_articles"] if one.get("kind") != "cancelled"]
        for one in failures[:left]:
            yield f"{one_line(one['url'])}: {one_line(one['error'])}"
        left -= min(left, len(failures))
        query = query | {"cursor": found.get("next_cursor")}
        if not left or query["cursor"] is None:
            return


async def warn_without_worker(api: ApiConnection) -> None:
    if not (await api.health())["workers"]:
        note("No worker is up, so nothing is fetched yet: `curtsy up` starts one.")


async def warn_without_scheduler(api: ApiConnection) -> None:
    if not (await api.request("GET", "/scheduler/status"))["data"]["schedulers"]:
        note("No scheduler is up, so no schedule runs yet: `curtsy up` starts one.")
