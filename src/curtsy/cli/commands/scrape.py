"""`curtsy scrape`: runs the whole engine for one job. Needs no service and leaves none behind."""

import asyncio
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import typer

from curtsy.cli.commands.processes import Scrapers, join_paths
from curtsy.cli.console.api_connection import Url, remote_api
from curtsy.cli.console.exit_codes import INTERRUPTED, exit_code
from curtsy.cli.console.job_wait import Waited, wait_with_progress, warn_without_worker
from curtsy.cli.console.live_results import LiveResults
from curtsy.cli.console.output import CannotWrite, note
from curtsy.cli.console.progress import progress
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.scrape_request import ScrapeRequest, Sources, Submitted, scrape_request
from curtsy.cli.console.text import counted, seconds_or_never, span
from curtsy.cli.console.url_arguments import Column, File, Refusal, SkipInvalid, Urls
from curtsy.cli.options.scrape_options import (
    Feed,
    GiveUp,
    InOrder,
    MaxAge,
    MaxPages,
    NewOnly,
    Quiet,
    SeenToo,
    Sitemap,
)
from curtsy.cli.options.session_options import CookieFile, Session, session_fields
from curtsy.cli.options.webhook_option import Webhook, webhook_field
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


@dataclass(frozen=True, slots=True)
class Manner:
    """How the command waits and writes."""

    url: str | None
    scrapers: str | None
    quiet: bool
    give_up: int | None
    is_live: bool
    """Each result is written as soon as its page has ended."""


def scrape(
    urls: Urls = None,
    file: File = None,
    column: Column = None,
    feed: Feed = None,
    sitemap: Sitemap = None,
    seen_too: SeenToo = False,
    max_pages: MaxPages = None,
    new_only: NewOnly = False,
    skip_invalid: SkipInvalid = False,
    out: Out = None,
    form: Format = None,
    max_age: MaxAge = None,
    give_up: GiveUp = "60s",
    in_order: InOrder = False,
    quiet: Quiet = False,
    scrapers: Scrapers = None,
    webhook: Webhook = None,
    session: Session = False,
    cookies: CookieFile = None,
    as_lines: AsLines = False,
    url: Url = None,
) -> None:  # fmt: skip
    """Fetch articles now and print them; no service is needed.

    Results go to standard output, progress and failures to stderr: into a pipe or a file each
    result as soon as its page has ended, else all at the end. Articles that were fetched before
    come from the store. After Ctrl-C open requests finish, and the same command continues from
    there. Exit code 0 if all pages were scraped, 3 if some failed, 4 if all failed.
    """
    chosen = choose_form(form, out, as_lines=as_lines)
    is_live = out is None and not in_order and not sys.stdout.isatty()
    manner = Manner(url, join_paths(scrapers), quiet, seconds_or_never(give_up, "--give-up"),
                    is_live)  # fmt: skip
    sources = Sources(urls, file, column, feed, sitemap, seen_too, max_pages, new_only,
                      skip_invalid, max_age)  # fmt: skip
    request = scrape_request(sources, _refusal(url) if skip_invalid else _refuses_none)
    request.body.update(webhook_field(webhook))
    leaves_out = new_only and not request.lists  # entries of lists are seen by their key
    request.options.update(session_fields(session, cookies, new_only=leaves_out))
    with open_output(out) as to:
        code = run(_scrape(request, Writer(chosen, to, out), manner))
    raise typer.Exit(code)


def _refuses_none(_host: str) -> None:
    return None


def _refusal(url: str | None) -> Refusal:
    """What the guard of this machine refuses by name. Which addresses an API elsewhere may fetch
    from, only that API knows."""
    from curtsy.fetch.guard import blocked_port, parse_networks, refusal_by_name

    text = "" if url else settings_for(log_level="WARNING").allow_addresses
    allow = parse_networks(text)

    def why(host: str) -> str | None:
        if (port := blocked_port(host)) is not None:
            return f"on port {port}, which browsers block too"
        means = None if url else refusal_by_name(host, allow)
        return f"{means}: ALLOW_ADDRESSES does not name it" if means else None

    return why


async def _scrape(request: ScrapeRequest, writer: Writer, manner: Manner) -> int:
    from curtsy.processes.local_api import local_api, whole_engine
    from curtsy.processes.signals import Stop

    url, quiet = manner.url, manner.quiet
    settings = settings_for(log_level="WARNING", scrapers=manner.scrapers)
    unwritten: typer.Exit | CannotWrite | None = None
    waited: Waited | None = None
    with Stop() as stop:
        async with remote_api(url) if url else whole_engine(settings) as http:
            api = ApiConnection(http)
            if url and not quiet:
                await warn_without_worker(api)
            submitted = await request.submit(api)
            live = LiveResults(submitted.job_id, writer) if manner.is_live else None
            try:
                waited = await _wait(api, submitted, stop, manner, live)
            except (typer.Exit, CannotWrite) as error:  # nobody reads any more, or the disk is full
                unwritten = error
            if not (url or waited or quiet or unwritten):
                note("Stopping after the open requests; press Ctrl-C again to stop at once.")
        async with remote_api(url) if url else local_api(settings) as http:
            api, gave_up = ApiConnection(http), waited.gave_up if waited is not None else None
            job = AsyncJob(api, submitted.job_id)
            if waited is None or gave_up:
                await _cancel(job)
            if unwritten is not None:
                raise unwritten
            try:
                written = await _write(api, job, submitted, writer, live, manner,
                                       names=bool(gave_up))  # fmt: skip
            except typer.Exit:  # Ctrl-C ended the reader, too
                if waited is not None:
                    raise
                note("Stopped. What was fetched is stored; run the same command again to go on.")
                return INTERRUPTED
    return _report(request, submitted, written, manner, waited)


async def _write(
    api: ApiConnection, job: AsyncJob, submitted: Submitted, writer: Writer,
    live: LiveResults | None, manner: Manner, *, names: bool,
) -> Written:  # fmt: skip
    """Writes the results, or what is left of them."""
    if live is not None:
        return await live.finish(api, await job.status(), names=names)
    with progress(submitted.total, quiet=manner.quiet or not writer.to_file) as update:
        return await write_all(job, writer, update)


async def _wait(
    api: ApiConnection, submitted: Submitted, stop: Stopping, manner: Manner,
    live: LiveResults | None,
) -> Waited | None:  # fmt: skip
    """Waits for the job; None if a signal ended the wait."""
    waiting = _wait_and_write(api, submitted, manner, live)
    work, stopped = asyncio.create_task(waiting), asyncio.create_task(stop.wait())
    await asyncio.wait([work, stopped], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if work.done():
        return await work
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work
    return None


async def _wait_and_write(
    api: ApiConnection, submitted: Submitted, manner: Manner, live: LiveResults | None
) -> Waited:
    job = AsyncJob(api, submitted.job_id)
    if live is None:
        return await wait_with_progress(job, submitted.total, quiet=manner.quiet,
                                        give_up=manner.give_up)  # fmt: skip
    if submitted.cached:
        await live.write_rest(api)
    return await wait_with_progress(
        job, submitted.total, quiet=manner.quiet, give_up=manner.give_up, plain=_is_pipe(),
        on_status=lambda: live.write_new(api),
    )  # fmt: skip


def _is_pipe() -> bool:
    """Whether another program reads standard output; it may write on the same terminal."""
    try:
        return stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        return False


async def _cancel(job: AsyncJob) -> None:
    try:
        await job.cancel()
    except Declined as declined:
        if declined.status != ALREADY_ENDED:  # the last page was open and has finished
            raise


def _report(
    request: ScrapeRequest, submitted: Submitted, written: Written, manner: Manner,
    waited: Waited | None,
) -> int:  # fmt: skip
    """Says on stderr what came of it; returns the exit code."""
    gave_up = waited.gave_up if waited is not None and written.cancelled else None
    for failure in written.failures:
        note(failure)
    for line in _given_up(gave_up, written, manner.give_up) if gave_up else ():
        note(line)
    ended = waited is not None or not written.cancelled
    if not manner.quiet:
        outcome = request.outcome(submitted, written)
        note(_summary(outcome, written, ended=ended, gave_up=bool(gave_up)))
    return exit_code(written.done, written.failed + written.cancelled) if ended else INTERRUPTED


def _given_up(waits: str, written: Written, give_up: int | None) -> Iterator[str]:
    """Lines about the pages that the command no longer waits for."""
    yield from (f"{url}: given up, since its host does not answer." for url in
                written.first_cancelled)  # fmt: skip
    if (more := written.cancelled - len(written.first_cancelled)) > 0:
        yield f"and {counted(more, 'more page')} of hosts that do not answer."
    yield f"Gave up after {span(give_up or 0)} (--give-up) without an answer. {waits}"


def _summary(outcome: str, written: Written, *, ended: bool, gave_up: bool = False) -> str:
    if gave_up:
        return (f"{outcome}, {written.cancelled} given up. What was fetched is stored; run the "
                "same command again to try the rest.")  # fmt: skip
    if not ended and not written.done:
        return f"Stopped after {outcome}: run the same command again to start over."
    if not ended:
        return f"Stopped after {outcome}. Run the same command again to continue from there."
    return f"{outcome}, {written.cancelled} cancelled." if written.cancelled else f"{outcome}."
