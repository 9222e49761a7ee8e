"""Waiting until a job has ended, with progress."""

import asyncio

from curtsy.cli.console.output import note
from curtsy.cli.console.progress import progress
from curtsy.client import ApiConnection, AsyncJob, Status


async def until_ended(job: AsyncJob, total: int, *, quiet: bool = False) -> Status:
    """How the job stands once nothing of it waits."""
    with progress(total, quiet=quiet) as tells:
        return await job.wait(progress=lambda now: tells(now.completed, now.failed, now.total))


async def watched(api: ApiConnection, job_id: str, total: int) -> Status:
    """The same for one who may stop watching: the job goes on without."""
    await warn_if_nobody_fetches(api)
    try:
        return await until_ended(AsyncJob(api, job_id), total)
    except asyncio.CancelledError:
        note(f"The job goes on; `curtsy status {job_id} --wait` watches it again.")
        raise


async def warn_if_nobody_fetches(api: ApiConnection) -> None:
    if not (await api.health())["workers"]:
        note("No worker is up, so nothing is fetched yet: `curtsy up` starts one.")


async def warn_if_nobody_keeps_schedules(api: ApiConnection) -> None:
    if not (await api.ask("GET", "/scheduler/status"))["data"]["schedulers"]:
        note("No scheduler is up, so nothing comes at its time: `curtsy up` starts one.")
