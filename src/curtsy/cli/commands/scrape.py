"""`curtsy scrape`: runs the whole engine for one job. Needs no service and leaves none behind."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, Protocol

import typer

from curtsy.cli.commands.processes import Scrapers, join_paths
from curtsy.cli.console.api_connection import Url, remote_api
from curtsy.cli.console.exit_codes import INTERRUPTED, exit_code
from curtsy.cli.console.job_wait import Waited, wait_with_progress, warn_without_worker
from curtsy.cli.console.output import note
from curtsy.cli.console.progress import progress, spinner
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.session_options import CookieFile, Session, session_fields
from curtsy.cli.console.text import counted, seconds_or_never, span
from curtsy.cli.console.url_arguments import File, Urls, read_urls
from curtsy.cli.console.webhook_option import Webhook, webhook_field
from curtsy.cli.views.results import (
    AsLines,
    Format,
    Out,
    Writer,
    Written,
    choose_form,
    open_output,
    write_all,
)
from curtsy.client import ApiConnection, AsyncJob, Declined

ALREADY_ENDED = 400


class Stopping(Protocol):
    async def wait(self) -> None: ...


def scrape(
    urls: Urls = None,
    file: File = None,
    out: Out = None,
    form: Format = None,
    max_age: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="SECONDS",
            help="Use stored articles up to this age; 0 fetches all pages again.",
        ),
    ] = None,
    give_up: Annotated[
        str,
        typer.Option(
            metavar="SPAN",
            help="Give up what is left once no page has ended for so long and none of its hosts "
            "answers, such as 5m. With `never`, wait for minutes until curtsy gives up the hosts.",
        ),
    ] = "60s",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")
    ] = False,
    scrapers: Scrapers = None,
    webhook: Webhook = None,
    session: Session = False,
    cookies: CookieFile = None,
    as_lines: AsLines = False,
    url: Url = None,
) -> None:  # fmt: skip
    """Fetch articles now and print them; no service is needed.

    Results go to standard output, progress and failures to stderr. Articles that were fetched
    before come from the store. After Ctrl-C open requests finish, and the same command continues
    from there. Exit code 0 if all pages were scraped, 3 if some failed, 4 if all failed.
    """
    chosen, patience = (
        choose_form(form, out, as_lines=as_lines),
        seconds_or_never(give_up, "--give-up"),
    )
    body: dict[str, Any] = {"articles": [{"url": one} for one in read_urls(urls, file)]}
    body |= webhook_field(webhook) | session_fields(session, cookies)
    if max_age is not None:
        body["max_age"] = max_age
    with open_output(out) as to:
        writer = Writer(chosen, to, out)
        code = run(_scrape(url, body, writer, join_paths(scrapers), quiet=quiet, give_up=patience))
    raise typer.Exit(code)


async def _scrape(
    url: str | None, body: Any, writer: Writer, scrapers: str | None, *, quiet: bool,
    give_up: int | None,
) -> int:  # fmt: skip
    from curtsy.processes.local_api import local_api, whole_engine
    from curtsy.processes.signals import Stop

    settings = settings_for(log_level="WARNING", scrapers=scrapers)
    with Stop() as stop:
        async with remote_api(url) if url else whole_engine(settings) as http:
            if url and not quiet:
                await warn_without_worker(ApiConnection(http))
            api = ApiConnection(http)
            created = await _submit(api, body)
            waited = await _wait(api, created, stop, quiet=quiet, give_up=give_up)
            if not (url or waited or quiet):
                note("Stopping after the open requests; press Ctrl-C again to stop at once.")
        async with remote_api(url) if url else local_api(settings) as http:
            job, total = AsyncJob(ApiConnection(http), created["job_id"]), created["total_articles"]
            if waited is None or waited.gave_up:
                await _cancel(job)
            with progress(total, quiet=quiet or not writer.to_file) as update:
                written = await write_all(job, writer, update)
    gave_up = waited.gave_up if waited is not None and written.cancelled else None
    for failure in (*written.failures, *(_given_up(gave_up, written, give_up) if gave_up else ())):
        note(failure)
    ended = waited is not None or not written.cancelled
    if not quiet:
        note(_summary(created, written, ended=ended, gave_up=bool(gave_up)))
    return exit_code(written.done, written.failed + written.cancelled) if ended else INTERRUPTED


async def _submit(api: ApiConnection, body: Any) -> dict[str, Any]:
    with spinner(f"Submitting {counted(len(body['articles']), 'page')}"):
        created: dict[str, Any] = await api.request("POST", "/jobs/submit", body=body)
        return created


async def _wait(
    api: ApiConnection, created: dict[str, Any], stop: Stopping, *, quiet: bool,
    give_up: int | None,
) -> Waited | None:  # fmt: skip
    """Waits for the job; None if a signal ended the wait."""
    job = AsyncJob(api, created["job_id"])
    waiting = wait_with_progress(job, created["total_articles"], quiet=quiet, give_up=give_up)
    work, stopped = asyncio.create_task(waiting), asyncio.create_task(stop.wait())
    await asyncio.wait([work, stopped], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if work.done():
        return await work
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work
    return None


async def _cancel(job: AsyncJob) -> None:
    try:
        await job.cancel()
    except Declined as declined:
        if declined.status != ALREADY_ENDED:  # the last page was open and has finished
            raise


def _given_up(waits: str, written: Written, give_up: int | None) -> Iterator[str]:
    """Lines about the pages that the command no longer waits for."""
    yield from (f"{url}: given up, since its host does not answer." for url in
                written.first_cancelled)  # fmt: skip
    if (more := written.cancelled - len(written.first_cancelled)) > 0:
        yield f"and {counted(more, 'more page')} of hosts that do not answer."
    yield f"Gave up after {span(give_up or 0)} (--give-up) without an answer. {waits}"


def _summary(
    created: dict[str, Any], written: Written, *, ended: bool, gave_up: bool = False
) -> str:
    cached = f" ({created['cached_articles']} from the store)" if created["cached_articles"] else ""
    text = f"{written.done} of {counted(created['total_articles'], 'page')}{cached}"
    if written.failed:
        text += f", {written.failed} failed"
    if gave_up:
        return (f"{text}, {written.cancelled} given up. What was fetched is stored; run the same "
                "command again to try the rest.")  # fmt: skip
    if not ended and not written.done:
        return f"Stopped after {text}: run the same command again to start over."
    if not ended:
        return f"Stopped after {text}. Run the same command again to continue from there."
    return f"{text}, {written.cancelled} cancelled." if written.cancelled else f"{text}."
