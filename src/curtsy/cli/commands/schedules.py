"""`curtsy schedules`: creates, lists, changes and runs schedules."""

import sys
from typing import Annotated, Any
from urllib.parse import quote

import typer

from curtsy.cli.commands.jobs import Wait, wait_for_end
from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.completion import schedule_names
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.job_wait import warn_without_scheduler, warn_without_worker
from curtsy.cli.console.output import echo, echo_json, require_yes
from curtsy.cli.console.runner import run as run_loop
from curtsy.cli.console.text import in_utf8, one_line
from curtsy.cli.options import schedule_options as options
from curtsy.cli.options.start_options import AllEntries, Feeds, Sitemaps, start_field
from curtsy.cli.options.webhook_option import Webhook
from curtsy.cli.views.schedules import listed, page
from curtsy.client import ApiConnection

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The schedule's name or id; `curtsy schedules list` shows them.",
        autocompletion=schedule_names,
    ),
]  # fmt: skip
NewName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the new schedule.")]
Paused = Annotated[bool, typer.Option("--paused", help="Skip its slots until it is resumed.")]
LIST_COMMAND = "curtsy schedules list"
RUNS_SHOWN = 10


def list(  # noqa: A001 - the command's name
    limit: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="How many to show.")
    ] = 50,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List schedules: when they run, their next run, and how the last one ended."""
    found = run_loop(
        _request(url, "GET", "/schedules", query={"limit": limit}), doing="Reading schedules"
    )
    if as_json:
        echo_json(found)
    elif not found["schedules"]:
        echo("There are no schedules yet: `curtsy schedules add NAME --every 2h --fetch URL` "
            "creates one.")  # fmt: skip
    else:
        more = ["  and more: --limit shows them"] if found.get("next_cursor") else []
        echo("\n".join(listed(found["schedules"]) + more))


def show(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Show one schedule: its next five slots, and how the last ten ended."""
    found = run_loop(_with_runs(url, path_of(name)), doing="Reading the schedule")
    _show(found, "" if as_json else page(found), as_json=as_json)


def add(
    name: NewName,
    cron: options.CronLine = None,
    every: options.EverySpan = None,
    at: options.AtMoment = None,
    timezone: options.Timezone = None,
    fetch: options.Fetch = None,
    crawl: options.CrawlFrom = None,
    feed: Feeds = None,
    sitemap: Sitemaps = None,
    all_entries: AllEntries = False,
    spider: options.Spider = None,
    depth: options.Depth = None,
    max_pages: options.MaxPages = None,
    articles: options.Articles = None,
    duty: options.DutyName = None,
    payload: options.PayloadFile = None,
    webhook: Webhook = None,
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
    """Create a schedule: when it runs, and what it does.

    When: one of --cron, --every and --at. What: --crawl, --feed and --sitemap, or one of --fetch,
    --articles, --duty and --payload. A scheduler starts it: `curtsy up` or `curtsy scheduler`.
    """
    body = options.rule_fields(
        cron=cron, every=every, at=at, timezone=timezone, overlap=overlap, catch_up=catch_up,
        catch_up_within=catch_up_within, not_before=not_before, after_end=after_end, jitter=jitter,
    )  # fmt: skip
    if not {"cron", "every_minutes", "at"} & body.keys():
        raise WrongUsage("Give one of --cron, --every and --at, to say when the schedule runs.")
    more = options.crawl_fields(spider, depth, max_pages)
    start = start_field(feed, sitemap, all_entries=all_entries)
    action = options.payload(fetch=fetch, crawl=crawl, start=start, crawl_options=more,
                           articles=articles, duty=duty, file=payload)  # fmt: skip
    if action is None:
        raise WrongUsage(f"Give one of {options.WHAT}, to say what it does.")
    action = options.with_webhook(action, webhook)
    body |= {"name": in_utf8(name), "payload": action} | ({"enabled": False} if paused else {})
    created = run_loop(_create(url, body), doing="Creating the schedule")
    _show(created, "" if as_json else page(created), as_json=as_json)


def edit(
    name: NameArgument,
    cron: options.CronLine = None,
    every: options.EverySpan = None,
    at: options.AtMoment = None,
    timezone: options.Timezone = None,
    fetch: options.Fetch = None,
    crawl: options.CrawlFrom = None,
    feed: Feeds = None,
    sitemap: Sitemaps = None,
    all_entries: AllEntries = False,
    spider: options.Spider = None,
    depth: options.Depth = None,
    max_pages: options.MaxPages = None,
    articles: options.Articles = None,
    duty: options.DutyName = None,
    payload: options.PayloadFile = None,
    webhook: Webhook = None,
    overlap: options.OverlapWord = None,
    catch_up: options.CatchUpWord = None,
    catch_up_within: options.CatchUpWithin = None,
    not_before: options.NotBefore = None,
    after_end: options.AfterEnd = None,
    jitter: options.Jitter = None,
    paused: Paused = False,
    rename: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="New name of the schedule.")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Change a schedule; options that you leave out stay as they are.

    A new rule starts afresh: slots missed under the old rule are not caught up.
    """
    body = options.rule_fields(
        cron=cron, every=every, at=at, timezone=timezone, overlap=overlap, catch_up=catch_up,
        catch_up_within=catch_up_within, not_before=not_before, after_end=after_end, jitter=jitter,
    )  # fmt: skip
    more = options.crawl_fields(spider, depth, max_pages)
    start = start_field(feed, sitemap, all_entries=all_entries)
    action = options.payload(fetch=fetch, crawl=crawl, start=start, crawl_options=more,
                           articles=articles, duty=duty, file=payload)  # fmt: skip
    body |= ({"name": in_utf8(rename)} if rename else {}) | ({"enabled": False} if paused else {})
    body |= {} if action is None else {"payload": action}
    if not body and not more and not webhook:
        raise WrongUsage("Give at least one option to change: see `curtsy schedules edit --help`.")
    changing = _edit(url, path_of(name), body, more, webhook)
    changed = run_loop(changing, doing="Changing the schedule")
    _show(changed, "" if as_json else page(changed), as_json=as_json)


def pause(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Pause a schedule: its slots are skipped until it is resumed; a current run goes on."""
    found = run_loop(_request(url, "POST", f"{path_of(name)}/pause"), doing="Pausing the schedule")
    paused = f"{found['name']} is paused: its slots are skipped until `curtsy schedules resume`."
    _show(found, paused, as_json=as_json)


def resume(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Resume a paused schedule from its next slot."""
    found = run_loop(
        _request(url, "POST", f"{path_of(name)}/resume"), doing="Resuming the schedule"
    )
    _show(found, "" if as_json else page(found), as_json=as_json)


def run(
    name: NameArgument, wait: Wait = False, as_json: AsJson = False, url: Url = None
) -> None:  # fmt: skip
    """Run a schedule now; its slots stay as they are."""
    run_loop(_run(url, path_of(name), wait=wait, as_json=as_json))


def remove(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Remove a schedule and its history; the jobs that it created stay.

    On a terminal the command asks first.
    """
    if not yes and sys.stdin.isatty():
        found = run_loop(_request(url, "GET", path_of(name)), doing="Reading the schedule")
        require_yes(f"Remove {one_line(found['name'])} ({one_line(found['when'])})?")
    gone = run_loop(_request(url, "DELETE", path_of(name)), doing="Removing the schedule")
    _show(gone, gone["message"], as_json=as_json)


def path_of(name: str) -> str:
    return f"/schedules/{quote(in_utf8(name), safe='')}"


async def _request(
    url: str | None, method: str, path: str, *, query: dict[str, Any] | None = None
) -> Any:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        return await api.request(method, path, query=query)


async def _create(url: str | None, body: dict[str, Any]) -> Any:
    async with open_api(url, create=True, list_command=LIST_COMMAND) as api:
        created = await api.request("POST", "/schedules", body=body)
        await warn_without_scheduler(api)
        return created


async def _with_runs(url: str | None, path: str) -> dict[str, Any]:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        found: dict[str, Any] = await api.request("GET", path)
        runs = await api.request("GET", f"{path}/runs", query={"limit": RUNS_SHOWN})
        return found | {"runs": runs["runs"]}


async def _edit(
    url: str | None, path: str, body: dict[str, Any], more: dict[str, Any], webhook: str | None
) -> Any:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        if (more or webhook) and "payload" not in body:
            before = (await api.request("GET", path))["payload"]
            body |= {"payload": options.changed_crawl(before, more) if more else before}
        if webhook:
            body |= {"payload": options.with_webhook(body["payload"], webhook)}
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
            await _follow(api, job, wait=wait, as_json=as_json)


async def _follow(api: ApiConnection, job: str, *, wait: bool, as_json: bool) -> None:
    if wait:
        await wait_for_end(api, job, as_json=as_json)
    await warn_without_worker(api)


def _show(found: dict[str, Any], text: str, *, as_json: bool) -> None:
    if as_json:
        echo_json(found)
    else:
        echo(text)
