"""`curtsy scrape`: the whole engine in one command. Needs no service, and leaves none behind."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any, Protocol

import typer

from curtsy.cli.commands.up import Scrapers, joined
from curtsy.cli.console.connection import Url, elsewhere
from curtsy.cli.console.exit_codes import INTERRUPTED, exit_code
from curtsy.cli.console.job_wait import until_ended, warn_if_nobody_fetches
from curtsy.cli.console.output import note
from curtsy.cli.console.progress import patience, progress
from curtsy.cli.console.startup import run, settings_for
from curtsy.cli.console.text import counted
from curtsy.cli.console.url_arguments import File, Urls, given
from curtsy.cli.views.results import (
    AsLines,
    Format,
    Out,
    Writer,
    Written,
    form_for,
    write_all,
    written_to,
)
from curtsy.client import ApiConnection, AsyncJob, Declined

ENDED_ALREADY = 400


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
            help="A stored article no older than this will do; 0 fetches all anew.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no summary.")
    ] = False,
    scrapers: Scrapers = None,
    as_lines: AsLines = False,
    url: Url = None,
) -> None:  # fmt: skip
    """Fetch articles now and print them; no service is needed.

    Results go to standard output, progress and failures to stderr. What was fetched before comes
    from the store. Ctrl-C lets open requests finish; the same command goes on from there. Exit
    code 0 if all were scraped, 3 if some failed, 4 if all did.
    """
    chosen = form_for(form, out, as_lines=as_lines)
    body: dict[str, Any] = {"articles": [{"url": one} for one in given(urls, file)]}
    if max_age is not None:
        body["max_age"] = max_age
    with written_to(out) as to:
        code = run(_scrape(url, body, Writer(chosen, to, out), joined(scrapers), quiet=quiet))
    raise typer.Exit(code)


async def _scrape(
    url: str | None, body: Any, writer: Writer, scrapers: str | None, *, quiet: bool
) -> int:
    from curtsy.processes.local_api import local_api, whole_engine
    from curtsy.processes.signals import Stop

    settings = settings_for(log_level="WARNING", scrapers=scrapers)
    with Stop() as stop:
        async with elsewhere(url) if url else whole_engine(settings) as http:
            if url and not quiet:
                await warn_if_nobody_fetches(ApiConnection(http))
            made, ended = await _fetch(ApiConnection(http), body, stop, quiet=quiet)
            if not (url or ended or quiet):
                note("Stopping: open requests may finish; Ctrl-C again ends it at once.")
        async with elsewhere(url) if url else local_api(settings) as http:
            job, total = AsyncJob(ApiConnection(http), made["job_id"]), made["total_articles"]
            if not ended:
                await _take_back(job)
            with progress(total, quiet=quiet or not writer.to_file) as tells:
                written = await write_all(job, writer, tells)
    ended = ended or not written.cancelled
    for failure in written.failures:
        note(failure)
    if not quiet:
        note(_summary(made, written, ended=ended))
    return exit_code(written.done, written.failed + written.cancelled) if ended else INTERRUPTED


async def _fetch(
    api: ApiConnection, body: Any, stop: Stopping, *, quiet: bool
) -> tuple[dict[str, Any], bool]:
    """What was submitted, and whether it was waited for until its end."""
    with patience(f"Submitting {counted(len(body['articles']), 'page')}"):
        made = await api.ask("POST", "/jobs/submit", body=body)
    return made, await _ended(api, made, stop, quiet=quiet)


async def _ended(api: ApiConnection, made: dict[str, Any], stop: Stopping, *, quiet: bool) -> bool:
    """False if someone would not wait for it."""
    job = AsyncJob(api, made["job_id"])
    watching = until_ended(job, made["total_articles"], quiet=quiet)
    work, stopped = asyncio.create_task(watching), asyncio.create_task(stop.wait())
    await asyncio.wait([work, stopped], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if work.done():
        await work
        return True
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work
    return False


async def _take_back(job: AsyncJob) -> None:
    try:
        await job.cancel()
    except Declined as declined:
        if declined.status != ENDED_ALREADY:  # its last page was open, and has finished
            raise


def _summary(made: dict[str, Any], written: Written, *, ended: bool) -> str:
    cached = f" ({made['cached_articles']} from the store)" if made["cached_articles"] else ""
    words = f"{written.done} of {counted(made['total_articles'], 'page')}{cached}"
    if written.failed:
        words += f", {written.failed} failed"
    if not ended and not written.done:
        return f"Stopped after {words}: the same command begins again."
    if not ended:
        return f"Stopped after {words}. They are kept: the same command goes on from there."
    return f"{words}, {written.cancelled} cancelled." if written.cancelled else f"{words}."
