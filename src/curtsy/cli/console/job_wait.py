"""Waiting until a job has ended, with progress."""

import asyncio

from curtsy.cli.console.output import note
from curtsy.cli.console.progress import progress
from curtsy.client import ApiConnection, AsyncJob, Status


async def wait_with_progress(job: AsyncJob, total: int, *, quiet: bool = False) -> Status:
    """How the job stands once nothing of it waits."""
    with progress(total, quiet=quiet) as update:
        return await job.wait(progress=lambda now: update(now.completed, now.failed, now.total))


async def watch_job(api: ApiConnection, job_id: str, total: int) -> Status:
    """The same for one who may stop watching: the job goes on without."""
    await warn_without_worker(api)
    try:
        return await wait_with_progress(AsyncJob(api, job_id), total)
    except asyncio.CancelledError:
        note(f"The job goes on; `curtsy status {job_id} --wait` watches it again.")
        raise


async def warn_without_worker(api: ApiConnection) -> None:
    if not (await api.health())["workers"]:
        note("No worker is up, so nothing is fetched yet: `curtsy up` starts one.")


async def warn_without_scheduler(api: ApiConnection) -> None:
    if not (await api.request("GET", "/scheduler/status"))["data"]["schedulers"]:
        note("No scheduler is up, so nothing comes at its time: `curtsy up` starts one.")
