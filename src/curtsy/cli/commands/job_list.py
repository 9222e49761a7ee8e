"""`curtsy jobs`: which there are."""

from typing import Annotated, Any, Literal

import typer

from curtsy.cli.console.connection import AsJson, Url, talk
from curtsy.cli.console.output import say, say_json
from curtsy.cli.console.startup import run
from curtsy.cli.console.table import table
from curtsy.cli.console.text import moment
from curtsy.client import Status

Word = Literal[
    "scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled",
    "PENDING", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED",
    "completed", "error", "pending", "finished", "started", "success", "failure",
]  # fmt: skip
"""What a state is called: by the engine, by the articles door, by the others."""


def jobs(
    limit: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="How many to show.")
    ] = 50,
    status: Annotated[
        Word | None,
        typer.Option(
            metavar="WORD",
            help="Only these: queued, running, succeeded, partial, failed, cancelled, or as the "
            "list itself calls them.",
        ),
    ] = None,
    tag: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only those with this tag.")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Jobs, newest first."""
    query = {"limit": limit, "status_filter": status, "tag": tag}
    found = run(found_jobs(url, query), doing="Looking for jobs")
    if as_json:
        say_json(found)
        return
    if not found["jobs"]:
        say("There are no such jobs." if status or tag else
            "There are no jobs yet: `curtsy submit URL` makes one.")  # fmt: skip
        return
    lines = table(("job", "status", "pages", "failed", "made", "what"),
                  [_row(job) for job in found["jobs"]], cut=("what",))  # fmt: skip
    if len(found["jobs"]) < found["total"]:
        more = "+" if found["total_is_capped"] else ""
        lines.append(f"  {len(found['jobs'])} of {found['total']}{more}: --limit shows more")
    say("\n".join(lines))


async def found_jobs(url: str | None, query: dict[str, Any]) -> dict[str, Any]:
    async with talk(url) as api:
        found: dict[str, Any] = await api.ask("GET", "/jobs", query=query)
        while not found["jobs"] and "next_cursor" in found:  # none among those looked through yet
            on = query | {"cursor": found["next_cursor"]}
            found = await api.ask("GET", "/jobs", query=on)
        return found


def _row(job: dict[str, Any]) -> tuple[str, ...]:
    made = moment(job["created_at"])
    if job["door"] == "fetch":
        return job["id"], job["status"], "1", "", made, job["url"]
    stands = Status(job["state"], job)
    name = job.get("job_id") or job["run_id"]
    done = f"{stands.completed} of {stands.total}"
    what = job.get("name") or job.get("site_name") or ""
    return name, job["status"], done, str(stands.failed or ""), made, what
