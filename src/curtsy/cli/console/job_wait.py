"""Waits until a job has ended and shows its progress; warns where no process would run it."""

import asyncio

from curtsy.cli.console.output import note
from curtsy.cli.console.progress import progress
from curtsy.client import ApiConnection, AsyncJob, Status


async def wait_with_progress(job: AsyncJob, total: int, *, quiet: bool = False) -> Status:
    """Returns the job's status once it has ended."""
    with progress(total, quiet=quiet) as update:
        return await job.wait(progress=lambda now: update(now.completed, now.failed, now.total))


async def watch_job(api: ApiConnection, job_id: str, total: int) -> Status:
    """Waits for a job; Ctrl-C ends the wait, not the job."""
    await warn_without_worker(api)
    try:
        return await wait_with_progress(AsyncJob(api, job_id), total)
    except asyncio.CancelledError:
        note(f"The job goes on; `curtsy status {job_id} --wait` shows its progress again.")
        raise


async def warn_without_worker(api: ApiConnection) -> None:
    if not (await api.health())["workers"]:
        note("No worker is up, so nothing is fetched yet: `curtsy up` starts one.")


async def warn_without_scheduler(api: ApiConnection) -> None:
    if not (await api.request("GET", "/scheduler/status"))["data"]["schedulers"]:
        note("No scheduler is up, so no schedule runs yet: `curtsy up` starts one.")
