"""Commands about jobs: submit, status, results, cancel, retry, pause, resume and the list."""

import re
from typing import Annotated, Any, Literal, NoReturn

import typer

from curtsy.cli.console.api_connection import AsJson, Url, list_jobs, open_api
from curtsy.cli.console.completion import job_ids, source_names
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.exit_codes import code_of_job
from curtsy.cli.console.job_wait import note_failures, warn_without_worker, watch_job
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.progress import progress, spinner
from curtsy.cli.console.runner import run
from curtsy.cli.console.table import table
from curtsy.cli.console.text import counted, in_utf8, to_minute, to_second
from curtsy.cli.console.url_arguments import Column, File, SkipInvalid, Urls, read_articles
from curtsy.cli.options.body_options import BodyJson, Form, MethodOption, body_fields
from curtsy.cli.options.scrape_options import NewOnly
from curtsy.cli.options.session_options import CookieFile, Session, session_fields
from curtsy.cli.options.webhook_option import Webhook, webhook_field
from curtsy.cli.views.performance import performance_lines
from curtsy.cli.views.results import (
    AsLines,
    Format,
    Out,
    Writer,
    choose_form,
    open_output,
    write_all,
)
from curtsy.client import ApiConnection, AsyncJob, Status

_ID = re.compile(r"[A-Za-z0-9_-]+")


def job_id(text: str | None) -> str | None:
    if text is None or _ID.fullmatch(text):
        return text
    raise WrongUsage(f"{text!r} is not a job id such as job_0d45a0376e21: see `curtsy jobs`.")


JobArgument = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="The job's id, such as job_0d45a0376e21; `curtsy jobs` lists the jobs.",
        callback=job_id, autocompletion=job_ids,
    ),
]  # fmt: skip
Wait = Annotated[
    bool, typer.Option("--wait", help="Wait until the job has ended, and show progress.")
]


def submit(
    urls: Urls = None,
    file: File = None,
    column: Column = None,
    skip_invalid: SkipInvalid = False,
    new_only: NewOnly = False,
    priority: Annotated[
        int, typer.Option(min=1, max=10, metavar="N", help="1 is fetched first, 10 last.")
    ] = 5,
    name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Name of the job in `curtsy jobs`.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Tag for `curtsy jobs --tag`; may be repeated."),
    ] = None,
    ignore_cache: Annotated[
        bool, typer.Option("--ignore-cache", help="Also fetch pages that are in the store already.")
    ] = False,
    webhook: Webhook = None,
    session: Session = False,
    cookies: CookieFile = None,
    method: MethodOption = None,
    form: Form = None,
    body_json: BodyJson = None,
    wait: Wait = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Submit articles as a job; a worker fetches them.

    Once its id is printed the job is stored, whatever happens to this command. `curtsy up` and
    `curtsy worker` run workers. With --wait the exit code shows the outcome.
    """
    if new_only and ignore_cache:
        raise WrongUsage("--new-only and --ignore-cache exclude each other.")
    found = read_articles(urls, file, column, skip_invalid=skip_invalid)
    sent = body_fields(method, form, body_json)
    articles = [{"priority": priority} | one | sent for one in found]
    body: dict[str, Any] = {"articles": articles, "ignore_cache": ignore_cache,
                            "tags": [in_utf8(word) for word in tag or []]}  # fmt: skip
    named: dict[str, Any] = {"name": in_utf8(name)} if name else {}
    named |= {"new_only": True} if new_only else {}
    body |= session_fields(session, cookies, new_only=new_only)
    run(_submit(url, body | named | webhook_field(webhook), wait=wait, as_json=as_json))


async def _submit(url: str | None, body: Any, *, wait: bool, as_json: bool) -> None:
    async with open_api(url, create=True) as api:
        with spinner(f"Submitting {counted(len(body['articles']), 'page')}"):
            created = await api.request("POST", "/jobs/submit", body=body)
        if not as_json:
            skipped = created.get("skipped_articles")
            before = f", {skipped} left out that were scraped before" if skipped else ""
            echo(f"{created['job_id']}: {created['new_articles']} to fetch, "
                f"{created['cached_articles']} in the store already{before}.")  # fmt: skip
        elif not wait:
            echo_json(created)
        if wait:
            ended = await watch_job(api, created["job_id"], created["total_articles"])
            await end_wait(api, created["job_id"], ended, as_json=as_json)
        if created["new_articles"]:
            await warn_without_worker(api)


def status(
    job: JobArgument,
    wait: Wait = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Show also its duration, retries, peak memory and newest failures with their "
            "tracebacks.",
        ),
    ] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show the progress of a job.

    With --wait the exit code shows the outcome: 0 if all pages were scraped, 3 if some failed, 4 if
    all failed.
    """
    run(_status(url, job, wait=wait, details=details, as_json=as_json))


async def _status(url: str | None, job: str, *, wait: bool, details: bool, as_json: bool) -> None:
    async with open_api(url) as api:
        if wait and not details:
            await wait_for_end(api, job, as_json=as_json)
        found = await AsyncJob(api, job).status()
        if wait and not found.is_over:
            found = await watch_job(api, job, found.total)
        performance = await api.request("GET", f"/jobs/{job}/performance") if details else None
        if as_json and performance is not None:
            echo_json(found.body | {"performance": performance})
        else:
            show_status(found, as_json=as_json)
        if performance is not None and not as_json:
            echo("\n".join(performance_lines(performance)))
        if wait:
            raise typer.Exit(code_of_job(found))


async def wait_for_end(api: ApiConnection, job: str, *, as_json: bool) -> NoReturn:
    """Waits for a job, which may have ended already, and ends the command as the job ended."""
    found = await AsyncJob(api, job).status()
    ended = found if found.is_over else await watch_job(api, job, found.total)
    await end_wait(api, job, ended, as_json=as_json)


async def end_wait(api: ApiConnection, job: str, ended: Status, *, as_json: bool) -> NoReturn:
    """Shows how the job ended, on stderr why pages of it failed, and ends the command."""
    show_status(ended, as_json=as_json)
    await note_failures(api, job, ended)
    raise typer.Exit(code_of_job(ended))


def results(
    job: JobArgument,
    out: Out = None,
    form: Format = None,
    as_lines: AsLines = False,
    url: Url = None,
) -> None:
    """Print a job's results so far.

    Failures go to stderr, or with JSON into the output. A result never changes; run the command
    again for pages that finish later.
    """
    chosen = choose_form(form, out, as_lines=as_lines)
    with open_output(out) as to:
        run(_results(url, job, Writer(chosen, to, out)))


async def _results(url: str | None, job: str, writer: Writer) -> None:
    async with open_api(url) as api:
        handle = AsyncJob(api, job)
        found = await handle.status()
        with progress(found.total, quiet=not writer.to_file) as update:
            written = await write_all(handle, writer, update)
    for failure in written.failures:
        note(failure)
    if not found.is_over:
        ended = written.done + written.failed
        note(f"{ended} of {counted(found.total, 'page')} so far; the job goes on.")


def cancel(
    job: JobArgument,
    purge: Annotated[
        bool, typer.Option("--purge", help="Also delete the job and its data for good.")
    ] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Cancel a job; its results so far are kept.

    Pages that other jobs wait for stay queued. A job that has ended cannot be cancelled, but it
    can be purged.
    """
    query = {"purge": "true"} if purge else None
    _act(url, "DELETE", f"/jobs/{job}", as_json=as_json, query=query)


def retry(job: JobArgument, wait: Wait = False, as_json: AsJson = False, url: Url = None) -> None:
    """Retry a job's failed pages, and only those."""
    if wait:
        run(_retry(url, job, as_json=as_json))
    else:
        _act(url, "POST", f"/jobs/{job}/retry", as_json=as_json)


async def _retry(url: str | None, job: str, *, as_json: bool) -> None:
    async with open_api(url) as api:
        answer = await api.request("POST", f"/jobs/{job}/retry")
        if not as_json:
            echo(answer["message"])
        await wait_for_end(api, job, as_json=as_json)


def pause(job: JobArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Pause a job: none of its pages start until it is resumed."""
    _act(url, "POST", f"/jobs/{job}/pause", as_json=as_json)


def resume(job: JobArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Resume a paused job."""
    _act(url, "POST", f"/jobs/{job}/resume", as_json=as_json)


def _act(
    url: str | None, method: str, path: str, *, as_json: bool, query: dict[str, Any] | None = None
) -> None:
    answer = run(_request(url, method, path, query), doing="Changing the job")
    if as_json:
        echo_json(answer)
    else:
        echo(answer["message"])


async def _request(url: str | None, method: str, path: str, query: dict[str, Any] | None) -> Any:
    async with open_api(url) as api:
        return await api.request(method, path, query=query)


def show_status(status: Status, *, as_json: bool) -> None:
    found = status.body
    if as_json:
        echo_json(found)
    elif found["door"] == "fetch":
        echo(f"{found['id']}: {found['status']} {found.get('error', '')}".rstrip())
    else:
        parts = [f"{status.completed} of {counted(status.total, 'page')}"]
        rest = {"failed": status.failed, "cancelled": found.get("cancelled", 0),
                "pending": found.get("pending", 0)}  # fmt: skip
        parts += [f"{number} {state}" for state, number in rest.items() if number]
        parts += ["paused"] if found.get("paused") else []
        parts += [f"ends at {to_second(found['eta'])}"] if found.get("eta") else []
        echo(f"{found.get('job_id', found.get('run_id'))}: {found['status']}, {', '.join(parts)}")


StateWord = Literal[
    "scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled",
    "PENDING", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED",
    "completed", "error", "pending", "finished", "started", "success", "failure", "retry",
    "dead_letter",
]  # fmt: skip
"""Names of a job's state: the engine's, the articles door's, the other doors'."""


def jobs(
    limit: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="How many to show.")
    ] = 50,
    status: Annotated[
        StateWord | None,
        typer.Option(
            metavar="WORD",
            help="Only jobs in this state: queued, running, succeeded, partial, failed, cancelled, "
            "or a door's word for it; or with pages in retry or dead_letter.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Only jobs of this source or site.", autocompletion=source_names
        ),
    ] = None,
    tag: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only jobs with this tag.")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List jobs, newest first."""
    named = in_utf8(source) if source is not None else None
    query = {"limit": limit, "status_filter": status, "tag": tag, "source": named}
    found = run(list_jobs(url, query), doing="Reading jobs")
    if as_json:
        echo_json(found)
        return
    if not found["jobs"]:
        echo("No job matches." if status or tag or source else
            "There are no jobs yet: `curtsy submit URL` creates one.")  # fmt: skip
        return
    lines = table(("job", "status", "pages", "failed", "created", "what"),
                  [_row(job) for job in found["jobs"]], cut=("what",))  # fmt: skip
    if len(found["jobs"]) < found["total"]:
        more = "+" if found["total_is_capped"] else ""
        lines.append(f"  {len(found['jobs'])} of {found['total']}{more}: --limit shows more")
    echo("\n".join(lines))


def _row(job: dict[str, Any]) -> tuple[str, ...]:
    state = "paused" if job.get("paused") else job["state"]
    done = f"{job['completed']} of {job['total']}"
    failed = str(job["failed"] or "")
    return job["id"], state, done, failed, to_minute(job["created_at"]), _what(job)


def _what(job: dict[str, Any]) -> str:
    """The job's name, or else its first page, or else what kind of job it is; never empty."""
    if job["name"]:
        return str(job["name"])
    if first := job.get("url"):
        more = f" and {job['total'] - 1} more" if job["total"] > 1 else ""
        return f"{first}{more}"
    of = f" of {job['schedule_name']}" if job.get("schedule_name") else ""
    return f"{job['door']}{of}"
