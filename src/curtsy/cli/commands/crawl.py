"""`curtsy crawl`: submits a job that follows links."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from curtsy.cli.commands.jobs import Wait, end_wait
from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.job_wait import warn_without_worker, watch_job
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.progress import spinner
from curtsy.cli.console.runner import run
from curtsy.cli.console.session_options import CookieFile, Session, session_fields
from curtsy.cli.console.url_arguments import File, Urls, read_urls
from curtsy.cli.console.webhook_option import Webhook, webhook_field


class Reach(StrEnum):
    PAGE = "page"
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"


Patterns = list[str] | None


def crawl(
    urls: Urls = None,
    file: File = None,
    depth: Annotated[
        int, typer.Option(min=0, max=100, metavar="N", help="How many links deep to follow.")
    ] = 1,
    scope: Annotated[
        Reach,
        typer.Option(metavar="REACH", help="How far links may lead: page, prefix, host or domain."),
    ] = Reach.HOST,
    include: Annotated[
        Patterns, typer.Option(metavar="PATTERN", help="Follow only these URLs, such as */blog/*.")
    ] = None,
    exclude: Annotated[
        Patterns, typer.Option(metavar="PATTERN", help="Do not follow these URLs.")
    ] = None,
    max_pages: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum number of pages.")
    ] = 10_000,
    spider: Annotated[
        str, typer.Option(metavar="NAME", help="Scraper: article, raw or your own.")
    ] = "article",
    ignore_cache: Annotated[
        bool, typer.Option("--ignore-cache", help="Create a new job and fetch every page again.")
    ] = False,
    webhook: Webhook = None,
    session: Session = False,
    cookies: CookieFile = None,
    wait: Wait = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Submit a crawl that follows links from start pages; a worker fetches them.

    Submitting the same crawl again within an hour returns the same job, unless that job failed.
    """
    params = {"scope": scope.value, "include": include or [], "exclude": exclude or [],
              "max_pages": max_pages} | session_fields(session, cookies)  # fmt: skip
    body = {"spider": spider, "start_urls": read_urls(urls, file), "depth": depth,
            "ignore_cache": ignore_cache, "params": params}  # fmt: skip
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
            ended = await watch_job(api, created["job_id"], len(body["start_urls"]))
            await end_wait(api, created["job_id"], ended, as_json=as_json)
        await warn_without_worker(api)
