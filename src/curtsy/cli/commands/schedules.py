"""`curtsy schedules`: jobs that come at their time."""

import sys
from typing import Annotated, Any
from urllib.parse import quote

import typer

from curtsy.cli.commands.jobs import Wait, show_status
from curtsy.cli.console import schedule_options as options
from curtsy.cli.console.completion import schedule_names
from curtsy.cli.console.connection import AsJson, Url, open_api
from curtsy.cli.console.errors import WrongUsage
from curtsy.cli.console.exit_codes import exit_code
from curtsy.cli.console.job_wait import (
    warn_without_scheduler,
    warn_without_worker,
    watch_job,
)
from curtsy.cli.console.output import echo, echo_json, require_yes
from curtsy.cli.console.startup import run as run_loop
from curtsy.cli.console.text import in_utf8, one_line
from curtsy.cli.views.schedules import listed, page
from curtsy.client import ApiConnection, AsyncJob

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Its name or id, as `curtsy schedules list` has it.",
        autocompletion=schedule_names,
    ),
]  # fmt: skip
NewName = Annotated[str, typer.Argument(metavar="NAME", help="To know it by.")]
Paused = Annotated[bool, typer.Option("--paused", help="Let its slots pass until it is resumed.")]
LIST_COMMAND = "curtsy schedules list"
RUNS_SHOWN = 10


def list(  # noqa: A001 - the command's name
    limit: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="How many to show.")
    ] = 50,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Schedules: when, what comes next, and what the last run came to."""
    found = run_loop(_ask(url, "GET", "/schedules", query={"limit": limit}), doing="Looking")
    if as_json:
        echo_json(found)
    elif not found["schedules"]:
        echo("There are no schedules yet: `curtsy schedules add NAME --every 2h --fetch URL` "
            "makes one.")  # fmt: skip
    else:
        more = ["  and more: --limit shows them"] if found.get("next_cursor") else []
        echo("\n".join(listed(found["schedules"]) + more))


def show(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """One schedule: its next five slots, and what the last ten came to."""
    found = run_loop(_with_runs(url, path_of(name)), doing="Looking for it")
    _tell(found, "" if as_json else page(found), as_json=as_json)


def add(
    name: NewName,
    cron: options.CronLine = None,
    every: options.EverySpan = None,
    at: options.AtMoment = None,
    timezone: options.Timezone = None,
    fetch: options.Fetch = None,
    crawl: options.CrawlFrom = None,
    spider: options.Spider = None,
    depth: options.Depth = None,
    max_pages: options.MaxPages = None,
    articles: options.Articles = None,
    duty: options.DutyName = None,
    payload: options.PayloadFile = None,
    overlap: options.OverlapWord = None,
    catch_up: options.CatchUpWord = None,
    catch_up_within: options.CatchUpWithin = None,
    not_before: options.NotBefore = None,
    after_end: options.AfterEnd = None,
    jitter: options.Jitter = None,
    paused: Paused = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Make a schedule: say when, and what it does.

    When: one of --cron, --every and --at. What: one of --fetch, --crawl, --articles, --duty and
    --payload. A scheduler fires it, as `curtsy up` and `curtsy scheduler` have one.
    """
    body = options.rule_fields(
        cron=cron, every=every, at=at, timezone=timezone, overlap=overlap, catch_up=catch_up,
        catch_up_within=catch_up_within, not_before=not_before, after_end=after_end, jitter=jitter,
    )  # fmt: skip
    if not {"cron", "every_minutes", "at"} & body.keys():
        raise WrongUsage("Say when: one of --cron, --every and --at.")
    more = options.crawl_fields(spider, depth, max_pages)
    does = options.payload(fetch=fetch, crawl=crawl, crawl_options=more, articles=articles, duty=duty,
                         file=payload)  # fmt: skip
    if does is None:
        raise WrongUsage("Say what it does: --fetch, --crawl, --articles, --duty or --payload.")
    _require_crawl(more, crawl)
    body |= {"name": in_utf8(name), "payload": does} | ({"enabled": False} if paused else {})
    created = run_loop(_make(url, body), doing="Making it")
    _tell(created, "" if as_json else page(created), as_json=as_json)


def edit(
    name: NameArgument,
    cron: options.CronLine = None,
    every: options.EverySpan = None,
    at: options.AtMoment = None,
    timezone: options.Timezone = None,
    fetch: options.Fetch = None,
    crawl: options.CrawlFrom = None,
    spider: options.Spider = None,
    depth: options.Depth = None,
    max_pages: options.MaxPages = None,
    articles: options.Articles = None,
    duty: options.DutyName = None,
    payload: options.PayloadFile = None,
    overlap: options.OverlapWord = None,
    catch_up: options.CatchUpWord = None,
    catch_up_within: options.CatchUpWithin = None,
    not_before: options.NotBefore = None,
    after_end: options.AfterEnd = None,
    jitter: options.Jitter = None,
    paused: Paused = False,
    rename: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What to call it from now on.")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Change a schedule; what is left out stays as it is.

    Another rule begins anew: slots that passed are not made up for.
    """
    body = options.rule_fields(
        cron=cron, every=every, at=at, timezone=timezone, overlap=overlap, catch_up=catch_up,
        catch_up_within=catch_up_within, not_before=not_before, after_end=after_end, jitter=jitter,
    )  # fmt: skip
    more = options.crawl_fields(spider, depth, max_pages)
    does = options.payload(fetch=fetch, crawl=crawl, crawl_options=more, articles=articles, duty=duty,
                         file=payload)  # fmt: skip
    body |= ({"name": in_utf8(rename)} if rename else {}) | ({"enabled": False} if paused else {})
    body |= {} if does is None else {"payload": does}
    if not body and not more:
        raise WrongUsage("Say what is to change: see `curtsy schedules edit --help`.")
    if does is not None:
        _require_crawl(more, crawl)
    changed = run_loop(_edit(url, path_of(name), body, more), doing="Changing it")
    _tell(changed, "" if as_json else page(changed), as_json=as_json)


def pause(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Let a schedule's slots pass until it is resumed; what runs goes on."""
    found = run_loop(_ask(url, "POST", f"{path_of(name)}/pause"), doing="Pausing it")
    _tell(found, f"{found['name']} is paused: its slots pass until `curtsy schedules resume`.",
          as_json=as_json)  # fmt: skip


def resume(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Go on with a paused schedule at its next slot."""
    found = run_loop(_ask(url, "POST", f"{path_of(name)}/resume"), doing="Resuming it")
    _tell(found, "" if as_json else page(found), as_json=as_json)


def run(
    name: NameArgument, wait: Wait = False, as_json: AsJson = False, url: Url = None
) -> None:  # fmt: skip
    """Run a schedule now, by hand; its slots stay as they are."""
    run_loop(_run(url, path_of(name), wait=wait, as_json=as_json))


def remove(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Remove a schedule and its history; the jobs that it made stay.

    On a terminal you are asked first.
    """
    if not yes and sys.stdin.isatty():
        found = run_loop(_ask(url, "GET", path_of(name)), doing="Looking for it")
        require_yes(f"Remove {one_line(found['name'])} ({one_line(found['when'])})?")
    gone = run_loop(_ask(url, "DELETE", path_of(name)), doing="Removing it")
    _tell(gone, gone["message"], as_json=as_json)


def path_of(name: str) -> str:
    return f"/schedules/{quote(in_utf8(name), safe='')}"


async def _ask(
    url: str | None, method: str, path: str, *, query: dict[str, Any] | None = None
) -> Any:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        return await api.request(method, path, query=query)


async def _make(url: str | None, body: dict[str, Any]) -> Any:
    async with open_api(url, create=True, list_command=LIST_COMMAND) as api:
        created = await api.request("POST", "/schedules", body=body)
        await warn_without_scheduler(api)
        return created


async def _with_runs(url: str | None, path: str) -> dict[str, Any]:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        found: dict[str, Any] = await api.request("GET", path)
        runs = await api.request("GET", f"{path}/runs", query={"limit": RUNS_SHOWN})
        return found | {"runs": runs["runs"]}


async def _edit(url: str | None, path: str, body: dict[str, Any], more: dict[str, Any]) -> Any:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        if more and "payload" not in body:
            before = await api.request("GET", path)
            body |= {"payload": options.changed_crawl(before["payload"], more)}
        return await api.request("PATCH", path, body=body)


async def _run(url: str | None, path: str, *, wait: bool, as_json: bool) -> None:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        ran = await api.request("POST", f"{path}/run")
        job = ran.get("job_id")
        if not as_json:
            echo(job or one_line(ran.get("message") or "Done."))
        elif not (wait and job):
            echo_json(ran)
        if job:
            await _followed(api, job, wait=wait, as_json=as_json)


async def _followed(api: ApiConnection, job: str, *, wait: bool, as_json: bool) -> None:
    found = await AsyncJob(api, job).status() if wait else None
    if found is None:
        await warn_without_worker(api)
        return
    ended = found if found.is_over else await watch_job(api, job, found.total)
    show_status(ended, as_json=as_json)
    raise typer.Exit(exit_code(ended.completed, ended.failed + ended.cancelled))


def _require_crawl(more: dict[str, Any], crawl: object) -> None:
    if more and not crawl:
        raise WrongUsage("--spider, --depth and --max-pages say more of --crawl: give it.")


def _tell(found: dict[str, Any], sentence: str, *, as_json: bool) -> None:
    if as_json:
        echo_json(found)
    else:
        echo(sentence)
