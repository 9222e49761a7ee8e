"""Commands about jobs: submit one, see how far it is, get what it brought, change its course."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from curtsy.cli.articles import Form, Writer, form_for, written_to
from curtsy.cli.exits import exit_code
from curtsy.cli.progress import progress
from curtsy.cli.starting import run
from curtsy.cli.table import table
from curtsy.cli.talking import AsJson, Url, talk
from curtsy.cli.urls import File, Urls, given
from curtsy.client import Declined, Talk

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Its id, as job_0d45a0376e21.")]
Wait = Annotated[bool, typer.Option("--wait", help="Until the job has ended, with progress.")]
LOOK_EVERY_SECONDS = 0.5
STORE_AWAY = 503


def submit(
    urls: Urls = None,
    file: File = None,
    priority: Annotated[int, typer.Option(min=1, max=10, help="1 is first.")] = 5,
    name: Annotated[str | None, typer.Option(help="To find it by.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="To find it by; may be repeated.")] = None,
    ignore_cache: Annotated[bool, typer.Option(help="Fetch also what is in the store.")] = False,
    wait: Wait = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Submit articles; a worker (`curtsy up`) fetches them."""
    articles = [{"url": one, "priority": priority} for one in given(urls, file)]
    body: dict[str, Any] = {"articles": articles, "ignore_cache": ignore_cache, "tags": tag or []}
    run(_submit(url, body | ({"name": name} if name else {}), wait=wait, as_json=as_json))


async def _submit(url: str | None, body: Any, *, wait: bool, as_json: bool) -> None:
    async with talk(url) as api:
        made = await api.ask("POST", "/jobs/submit", body=body)
        if as_json and not wait:
            print(orjson.dumps(made).decode())
            return
        if not as_json:
            print(f"{made['job_id']}: {made['new_articles']} to fetch, "
                  f"{made['cached_articles']} in the store already.")  # fmt: skip
        if wait:
            ended = await until_ended(api, made["job_id"], made["total_articles"])
            _show_status(ended, as_json=as_json)
            raise typer.Exit(exit_code(ended["completed"], ended["failed"] + ended["cancelled"]))


def status(job: JobArgument, wait: Wait = False, as_json: AsJson = False, url: Url = None) -> None:
    """How far a job is."""
    run(_status(url, job, wait=wait, as_json=as_json))


async def _status(url: str | None, job: str, *, wait: bool, as_json: bool) -> None:
    async with talk(url) as api:
        found = await api.ask("GET", f"/jobs/{job}/status")
        if wait and found.get("pending"):
            found = await until_ended(api, job, found["total_articles"])
        _show_status(found, as_json=as_json)


def results(
    job: JobArgument,
    out: Annotated[Path | None, typer.Option(help="To this file.")] = None,
    form: Annotated[Form | None, typer.Option("--format", help="How they are written.")] = None,
    url: Url = None,
) -> None:
    """What a job brought so far. Failures go to stderr, or into the lines of JSON."""
    run(_results(url, job, form_for(form, out), out))


async def _results(url: str | None, job: str, form: Form, out: Path | None) -> None:
    async with talk(url) as api:
        with written_to(out) as to:
            writer = Writer(form, to)
            async for found in api.results(job):
                writer.write(found)
                if "error" in found and form is not Form.JSON:
                    print(f"{found['url']}: {found['error']}", file=sys.stderr)


def cancel(
    job: JobArgument,
    purge: Annotated[bool, typer.Option(help="Also forget it and its data.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Take a job back; pages that other jobs wait for stay queued."""
    query = {"purge": "true"} if purge else None
    run(_tell(url, "DELETE", f"/jobs/{job}", as_json=as_json, query=query))


def retry(job: JobArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Try a job's failures again, and only those."""
    run(_tell(url, "POST", f"/jobs/{job}/retry", as_json=as_json))


def pause(job: JobArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Start none of a job's pages until it is resumed."""
    run(_tell(url, "POST", f"/jobs/{job}/pause", as_json=as_json))


def resume(job: JobArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Go on with a paused job."""
    run(_tell(url, "POST", f"/jobs/{job}/resume", as_json=as_json))


async def _tell(
    url: str | None, method: str, path: str, *, as_json: bool, query: dict[str, Any] | None = None
) -> None:
    async with talk(url) as api:
        answer = await api.ask(method, path, query=query)
    print(orjson.dumps(answer).decode() if as_json else answer["message"])


def jobs(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to show.")] = 50,
    status: Annotated[str | None, typer.Option(help="Only these: a word of any door.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only those with this tag.")] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Jobs, newest first."""
    run(_jobs(url, {"limit": limit, "status_filter": status, "tag": tag}, as_json=as_json))


async def _jobs(url: str | None, query: dict[str, Any], *, as_json: bool) -> None:
    async with talk(url) as api:
        found = await api.ask("GET", "/jobs", query=query)
    if as_json:
        print(orjson.dumps(found).decode())
        return
    print("\n".join(table(("job", "status", "pages", "failed", "made", "what"),
                          [_row(job) for job in found["jobs"]])))  # fmt: skip
    if len(found["jobs"]) < found["total"]:
        print(
            f"  {len(found['jobs'])} of {found['total']}{'+' if found['total_is_capped'] else ''}"
        )


def _row(job: dict[str, Any]) -> tuple[str, ...]:
    if job["door"] == "fetch":
        return job["id"], job["status"], "1", "", job["created_at"], job["url"]
    done = f"{job['completed']} of {job['total_articles']}"
    failed = str(job["failed"] or "")
    return job["job_id"], job["status"], done, failed, job["created_at"], job.get("name", "")


async def until_ended(api: Talk, job: str, total: int, *, quiet: bool = False) -> dict[str, Any]:
    """The job's status once nothing of it waits; a store that is away comes back."""
    with progress(total, quiet=quiet) as tells:
        while True:
            try:
                found: dict[str, Any] = await api.ask("GET", f"/jobs/{job}/status")
            except Declined as declined:
                if declined.status != STORE_AWAY:
                    raise
            else:
                tells(found["completed"], found["failed"])
                if not found["pending"]:
                    return found
            await asyncio.sleep(LOOK_EVERY_SECONDS)


def _show_status(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(orjson.dumps(found).decode())
    elif found["door"] == "fetch":
        print(f"{found['id']}: {found['status']} {found.get('error', '')}".rstrip())
    else:
        words = [f"{found['completed']} of {found['total_articles']} pages"]
        words += [f"{found[what]} {what}" for what in ("failed", "pending") if found[what]]
        words += ["paused"] if found.get("paused") else []
        print(f"{found['job_id']}: {found['status']}, {', '.join(words)}")
