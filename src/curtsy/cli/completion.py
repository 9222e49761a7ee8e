"""What the Tab key offers beyond commands and options."""

import os

import typer

from curtsy.cli.listing import found_jobs
from curtsy.cli.starting import run
from curtsy.errors import CurtsyError

MOST = 20


def job_ids(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The newest jobs, with their status; of an API if one is named, else of the local file."""
    url = context.params.get("url") or os.environ.get("CURTSY_URL")
    try:
        found = run(found_jobs(url, {"limit": MOST}))
    except CurtsyError:
        return []
    rows = [(job.get("job_id") or job["id"], job["status"]) for job in found["jobs"]]
    return [row for row in rows if row[0].startswith(incomplete)]
