"""`curtsy discover`: lists the feeds and sitemaps that a site offers."""

from typing import Annotated, Any

import typer

from curtsy.cli.console.api_connection import AsJson, Url, remote_api
from curtsy.cli.console.exit_codes import exit_code
from curtsy.cli.console.job_wait import wait_with_progress, warn_without_worker
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.text import one_line
from curtsy.cli.console.url_arguments import read_urls
from curtsy.cli.views.discovery import Discovered, discovered, discovery_lines
from curtsy.client import ApiConnection, AsyncJob

GIVE_UP_SECONDS = 60.0
"""Without an answer of a host for so long, its pages are cancelled."""


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
        return discovered([result async for result in job.results()])


def _hint(found: Discovered, site: str) -> None:
    if found.unread:
        note(f"{found.unread} more were named and not read: --max-lists reads more.")
    if not found.lists:
        note(f"No feed and no sitemap of {one_line(site)} was found.")
        return
    first = found.lists[0]
    option = "--sitemap" if "sitemap" in first.kind or first.kind == "robots.txt" else "--feed"
    note(f"To fetch what is new in one of them: curtsy crawl {option} {one_line(first.url)}")
