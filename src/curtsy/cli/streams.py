"""Commands that follow what happens: a job's log, and the events of one job or of all."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Annotated, Any

import typer

from curtsy.cli.jobs import JobArgument, job_id
from curtsy.cli.saying import say, say_json
from curtsy.cli.starting import run
from curtsy.cli.talking import AsJson, Url, talk
from curtsy.cli.wording import one_line
from curtsy.client import Declined, Talk

LOOK_EVERY_SECONDS = 0.5
STORE_AWAY = 503

Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")]


def logs(
    job: JobArgument, follow: Follow = False, as_json: AsJson = False, url: Url = None
) -> None:
    """A job's log: what was fetched, what failed and why, what is tried again.

    With --json each line is an object with ts, level and msg.
    """
    run(_logs(url, job, follow=follow, show=say_json if as_json else _show_line))


async def _logs(url: str | None, job: str, *, follow: bool, show: Callable[[Any], None]) -> None:
    async with talk(url) as api:
        async for page in _pages(api, f"/jobs/{job}/logs", None):
            for line in page["lines"]:
                show(line)
            if page["ended"] or not (follow or page["lines"]):
                return


def _show_line(line: dict[str, str]) -> None:
    say(f"{line['ts'][11:19]} {line['level']:<7} {one_line(line['msg'])}")


def watch(
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="Only this one.", callback=job_id)
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """What happens from now on, to one job or to all; Ctrl-C ends it.

    With --json each line is an event, as the WebSocket of the API has it.
    """
    run(_watch(url, job, show=say_json if as_json else _show_event))


async def _watch(url: str | None, job: str | None, *, show: Callable[[Any], None]) -> None:
    async with talk(url) as api:
        if job is not None:
            await api.ask("GET", f"/jobs/{job}/status")
        async for page in _pages(api, "/events", None):
            for event in page["events"]:
                if job not in (None, event["job_id"]):
                    continue
                show(event)
                if job is not None and event["event"] == "job_finished":
                    return


def _show_event(event: dict[str, Any]) -> None:
    ended = event["completed"] + event["failed"]
    words = [event["at"][11:19], event["job_id"], f"{ended}/{event['total']}", event["event"]]
    words += [one_line(str(event[known])) for known in ("url", "error") if event.get(known)]
    say("  ".join(words))


async def _pages(api: Talk, path: str, last: str | None) -> AsyncGenerator[dict[str, Any]]:
    """Page after page, for ever; none is missed, and a store that is away comes back."""
    while True:
        try:
            page = await api.ask("GET", path, headers=_since(last))
        except Declined as declined:
            if declined.status != STORE_AWAY:
                raise
        else:
            yield page
            if page["last"] != last:
                last = page["last"]
                continue
        await asyncio.sleep(LOOK_EVERY_SECONDS)


def _since(last: str | None) -> dict[str, str]:
    return {"Accept": "application/json"} | ({"Last-Event-ID": last} if last else {})
