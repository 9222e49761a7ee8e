"""`curtsy scrape`: the whole engine in one command. Needs no service, and leaves none behind."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from curtsy.app import Stop, whole_engine
from curtsy.cli.articles import Form, Writer, form_for, written_to
from curtsy.cli.exits import exit_code
from curtsy.cli.jobs import until_ended
from curtsy.cli.starting import run, settings_for
from curtsy.cli.urls import File, Urls, given
from curtsy.client import Talk
from curtsy.config import Settings

INTERRUPTED = 130


def scrape(
    urls: Urls = None,
    file: File = None,
    out: Annotated[Path | None, typer.Option(help="Results to this file.")] = None,
    form: Annotated[Form | None, typer.Option("--format", help="How they are written.")] = None,
    max_age: Annotated[
        int | None,
        typer.Option(min=0, help="A stored article no older than so many seconds will do."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> None:
    """Fetch articles now: results to standard output, progress to stderr.

    What was fetched before comes from the store. Exit code 0 if all were scraped, 3 if some
    failed, 4 if all did.
    """
    body: dict[str, Any] = {"articles": [{"url": url} for url in given(urls, file)]}
    if max_age is not None:
        body["max_age"] = max_age
    settings = settings_for(log_level="WARNING")
    with written_to(out) as to:
        writer = Writer(form_for(form, out), to)
        code = run(_scrape(settings, body, writer, quiet=quiet))
    raise typer.Exit(code)


async def _scrape(settings: Settings, body: Any, writer: Writer, *, quiet: bool) -> int:
    with Stop() as stop:
        async with whole_engine(settings) as http:
            api = Talk(http)
            made = await api.ask("POST", "/jobs/submit", body=body)
            job, total = made["job_id"], made["total_articles"]
            work = asyncio.create_task(until_ended(api, job, total, quiet=quiet))
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait([work, stopped], return_when=asyncio.FIRST_COMPLETED)
            interrupted = not work.done()
            stopped.cancel()
            if interrupted:
                work.cancel()
                await api.ask("DELETE", f"/jobs/{job}")
            else:
                await work
            done, failed = await _write(api, job, writer)
    if not quiet:
        print(_summary(made, done, failed, interrupted=interrupted), file=sys.stderr)
    return INTERRUPTED if interrupted else exit_code(done, failed)


async def _write(api: Talk, job: str, writer: Writer) -> tuple[int, int]:
    done = failed = 0
    async for found in api.results(job):
        writer.write(found)
        if "error" in found:
            failed += 1
            print(f"{found['url']}: {found['error']}", file=sys.stderr)
        else:
            done += 1
    return done, failed


def _summary(made: dict[str, Any], done: int, failed: int, *, interrupted: bool) -> str:
    cached = f" ({made['cached_articles']} from the store)" if made["cached_articles"] else ""
    words = f"{done} of {made['total_articles']} pages{cached}"
    if interrupted:
        return f"{words}, then stopped: they are kept, and the same command goes on from there."
    return f"{words}, {failed} failed." if failed else f"{words}."
