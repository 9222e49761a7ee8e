"""`curtsy crawl` submits a job that follows links; `curtsy discover` lists where it may start."""

from typing import Annotated, Any

import typer

from curtsy.cli.commands.jobs import Wait, end_wait
from curtsy.cli.console.api_connection import AsJson, Url, open_api, remote_api
from curtsy.cli.console.exit_codes import exit_code
from curtsy.cli.console.job_wait import wait_with_progress, warn_without_worker, watch_job
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.progress import spinner
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.text import one_line
from curtsy.cli.console.url_arguments import File, Urls, read_urls
from curtsy.cli.options.crawl_options import (
    Depth,
    Exclude,
    Follow,
    Include,
    Keep,
    MaxPages,
    Reach,
    Scope,
    Spider,
)
from curtsy.cli.options.session_options import CookieFile, Session, session_fields
from curtsy.cli.options.start_options import AllEntries, Feeds, Sitemaps, start_field
from curtsy.cli.options.webhook_option import Webhook, webhook_field
from curtsy.cli.views.discovery import Discovered, discovered, discovery_lines
from curtsy.client import ApiConnection, AsyncJob

GIVE_UP_SECONDS = 60.0
"""Without an answer of a host for so long, its pages are cancelled."""


def crawl(
    urls: Urls = None,
    file: File = None,
    feed: Feeds = None,
    sitemap: Sitemaps = None,
    all_entries: AllEntries = False,
    depth: Depth = None,
    scope: Scope = Reach.HOST,
    include: Include = None,
    exclude: Exclude = None,
    follow: Follow = None,
    keep: Keep = None,
    max_pages: MaxPages = 10_000,
    spider: Spider = "article",
    ignore_cache: Annotated[
        bool, typer.Option("--ignore-cache", help="Create a new job and fetch every page again.")
    ] = False,
    webhook: Webhook = None,
    session: Session = False,
    cookies: CookieFile = None,
    wait: Wait = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:  # fmt: skip
    """Submit a crawl that follows links from start pages; a worker fetches them.

    Submitting the same crawl again within an hour returns the same job, unless that job failed.

    With --feed or --sitemap, fetch the pages that these list: those that no crawl of yours has seen
    there yet, and those that say that they changed since.
    """
    start = start_field(feed, sitemap, all_entries=all_entries)
    pages = read_urls(urls, file) if urls or file or not start else []
    params = {"scope": scope.value, "include": include or [], "exclude": exclude or [],
              "follow": follow or [], "keep": keep or [],
              "max_pages": max_pages} | session_fields(session, cookies)  # fmt: skip
    body = {"spider": spider, "start_urls": pages, "ignore_cache": ignore_cache, "params": params,
            "depth": int(bool(pages)) if depth is None else depth} | start  # fmt: skip
    run(_crawl(url, body | webhook_field(webhook), wait=wait, as_json=as_json))


async def _crawl(url: str | None, body: dict[str, Any], *, wait: bool, as_json: bool) -> None:
    async with open_api(url, create=True) as api:
        with spinner("Submitting the crawl"):
            created = await api.request("POST", "/crawl", body=body)
        if not as_json:
            known = f" (the same as at {created['cached_at']})" if created["cached"] else ""
            job = created["job_id"]
            echo(f"{job}: a crawl{known}; `curtsy logs -f {job}` follows it.")
        elif not wait:
            echo_json(created)
        if wait:
            ended = await watch_job(api, created["job_id"], _number_of_starts(body))
            await end_wait(api, created["job_id"], ended, as_json=as_json)
        await warn_without_worker(api)


def _number_of_starts(body: dict[str, Any]) -> int:
    start = body.get("start", {})
    return len(body["start_urls"]) + len(start.get("feed", ())) + len(start.get("sitemap", ()))


def discover(
    page: Annotated[
        str,
        typer.Argument(
            metavar="URL", show_default=False, help="The site, such as https://example.com/."
        ),
    ],
    max_lists: Annotated[
        int, typer.Option(min=1, max=1_000, metavar="N", help="Read at most so many lists.")
    ] = 200,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress and no hints.")
    ] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List the feeds and sitemaps of a site, with the number and the dates of their entries.

    Reads those that the page links to, those of its robots.txt and /sitemap.xml, and those that
    they list in turn, by the rules and at the pace of every site; no service is needed. Fetches no
    entry. Exit code 3 if some lists could not be read, 4 if none could.
    """
    [site] = read_urls([page], None)
    body = {"url": site, "max_lists": max_lists}
    found = run(_discover(url, body, quiet=quiet or as_json))
    if as_json:
        echo_json({"url": site} | found.as_json())
    else:
        for line in discovery_lines(found):
            echo(line)
        for url_of, error in found.failed:
            note(f"{one_line(url_of)}: {one_line(error)}")
        if not quiet:
            _hint(found, site)
    raise typer.Exit(exit_code(len(found.lists), len(found.failed)))


async def _discover(url: str | None, body: dict[str, Any], *, quiet: bool) -> Discovered:
    from curtsy.processes.local_api import whole_engine

    engine = remote_api(url) if url else whole_engine(settings_for(log_level="WARNING"))
    async with engine as http:
        api = ApiConnection(http)
        if url and not quiet:
            await warn_without_worker(api)
        created = await api.request("POST", "/discover", body=body)
        job = AsyncJob(api, created["job_id"])
        waited = await wait_with_progress(job, 3, quiet=quiet, give_up=GIVE_UP_SECONDS)
        if waited.gave_up is not None:
            await job.cancel()
        pages = (await job.status()).total
        return discovered([one async for one in job.results()], site=body["url"], pages=pages)


def _hint(found: Discovered, site: str) -> None:
    if found.unread:
        note(f"{found.unread} more were named and not read: --max-lists reads more.")
    if not found.lists:
        note(f"No feed and no sitemap of {one_line(site)} was found.")
        return
    first = found.lists[0]
    option = "--sitemap" if "sitemap" in first.kind or first.kind == "robots.txt" else "--feed"
    note(f"To fetch what is new in one of them: curtsy crawl {option} {one_line(first.url)}")
