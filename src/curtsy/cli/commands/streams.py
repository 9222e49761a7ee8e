"""`curtsy logs` and `curtsy watch`: a job's log, and the events of one job or of all."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Annotated, Any

import typer

from curtsy.cli.commands.jobs import JobArgument, job_id
from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.runner import run
from curtsy.cli.console.text import one_line
from curtsy.client import AsyncJob, Patience, poll_pages

Follow = Annotated[
    bool, typer.Option("--follow", "-f", help="Print new lines until the job has ended.")
]


def logs(
    job: JobArgument, follow: Follow = False, as_json: AsJson = False, url: Url = None
) -> None:
    """Print a job's log: fetched pages, failures with their reasons, retries.

    With --json each line is an object with ts, level and msg.
    """
    run(_logs(url, job, follow=follow, show=echo_json if as_json else _show_line))


async def _logs(url: str | None, job: str, *, follow: bool, show: Callable[[Any], None]) -> None:
    async with open_api(url) as api, aclosing(AsyncJob(api, job).logs(follow=follow)) as lines:
        async for line in lines:
            show(line)


def _show_line(line: dict[str, str]) -> None:
    echo(f"{line['ts'][11:19]} {line['level']:<7} {one_line(line['msg'])}")


def watch(
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="Only this job.", callback=job_id)
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Print events of one job or of all jobs as they happen; Ctrl-C ends it.

    With --json each line is an event as the API's WebSocket sends it.
    """
    run(_watch(url, job, show=echo_json if as_json else _show_event))


async def _watch(url: str | None, job: str | None, *, show: Callable[[Any], None]) -> None:
    async with open_api(url) as api, aclosing(poll_pages(api, "/events")) as found:
        if job is not None:
            await _watch_one(AsyncJob(api, job), found, Patience(api), show)
            return
        async for page in found:
            for event in (*page["events"], *page.get("alerts", ())):
                show(event)


async def _watch_one(
    job: AsyncJob, found: AsyncGenerator[dict[str, Any]], patience: Patience,
    show: Callable[[Any], None],
) -> None:  # fmt: skip
    await anext(found)  # no later event is missed, so the status can be read now
    if (status := await patience.call(job.status)).is_over:
        note(f"{job.id} has ended: {status.state}. See `curtsy logs {job.id}`.")
        return
    async for page in found:
        for event in page["events"]:
            if event["job_id"] == job.id:
                show(event)
                if event["event"] == "job_finished":
                    return
        if not page["events"]:
            await patience.call(job.status)  # raises for a purged job, which has no more events


def _show_event(event: dict[str, Any]) -> None:
    if event["type"] == "alert":
        what = f"{event['rule']} {event['subject']}".strip()
        echo(f"{event['at'][11:19]}  {event['event']}  {one_line(what)}  {one_line(event['says'])}")
        return
    ended = event["completed"] + event["failed"]
    parts = [event["at"][11:19], event["job_id"], f"{ended}/{event['total']}", event["event"]]
    parts += [one_line(str(event[known])) for known in ("url", "error") if event.get(known)]
    echo("  ".join(parts))
