"""`curtsy doctor`: the state of the system, from the database or an API elsewhere."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.database_file import require_file
from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.table import facts
from curtsy.cli.views.doctor import page, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from curtsy.reports.findings.finding import Finding

OPEN = "queued"
"""The API's filter for jobs that have not ended."""


def doctor(
    sources: Annotated[
        int, typer.Option(min=0, max=10_000, metavar="N", help="How many sources to show.")
    ] = 20,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show what waits, which workers are up, and what is wrong, with what to do about it.

    Reads the database and changes nothing, and tries what a scraper's process can do on this
    machine. With --url it reads an API, which shows less: no workers by name, no sources. Exit
    code 1 if there is a problem: pages wait and no worker is up, schedules are due and no scheduler
    is up, the database does not answer or has another schema, or its disk is full. Warnings (clocks
    that differ, long transactions, little space, silent or older processes, memory, sources that
    fail, root, a weak sandbox, files that others may read) and notices leave the exit code at 0.
    """
    if url:
        _show_remote(url, as_json=as_json)
        return
    from curtsy.processes.examination import examine
    from curtsy.reports.findings.finding import Severity

    settings = settings_for(log_level="WARNING")
    require_file(settings)
    found = run(examine(settings, sources=sources), doing="Examining the database")
    findings = found.findings
    if as_json:
        echo_json(plain(found, findings))
    else:
        echo(page(found, findings))
    if any(finding.severity is Severity.PROBLEM for finding in findings):
        raise typer.Exit(FAILED)


def _show_remote(url: str, *, as_json: bool) -> None:
    found = run(_read_remote(url), doing="Reading the API")
    problems = list(_problems(found))
    texts = [problem.text for problem in problems]
    if as_json:
        parts = [problem._asdict() for problem in problems]
        echo_json(found | {"problems": texts, "findings": parts})
    else:
        echo("\n".join(facts(found)))
    for text in texts:
        note(f"Problem: {text}")
    if problems:
        raise typer.Exit(FAILED)
    if not found["workers"]:
        note("No worker is up, so nothing would be fetched: `curtsy worker` starts one.")


def _problems(found: dict[str, Any]) -> "Iterator[Finding]":
    from curtsy.reports.findings.finding import DISK_FULL, Finding, Severity

    if found["store"] == "full":
        yield DISK_FULL
    elif found["store"] != "ok":
        yield Finding(Severity.PROBLEM, "store_away",
                      "The API answers, but its database does not.",
                      "check the API's machine.")  # fmt: skip
    elif found["open_jobs"] and not found["workers"]:
        yield Finding(Severity.PROBLEM, "no_worker", "Jobs wait and no worker is up.",
                      "`curtsy up` or `curtsy worker` starts one.")  # fmt: skip


async def _read_remote(url: str) -> dict[str, Any]:
    async with open_api(url) as api:
        health = await api.health()
        found = {name: health[name] for name in ("status", "store", "workers", "version")}
        if found["store"] == "ok":
            jobs = await api.request("GET", "/jobs", query={"limit": 1, "status_filter": OPEN})
            letters = await api.request("GET", "/dead-letters", query={"limit": 1})
            found["open_jobs"] = jobs["total"]
            found["dead_letters"] = sum(group["count"] for group in letters["groups"])
        return found
