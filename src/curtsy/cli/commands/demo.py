"""`curtsy demo` scrapes practice newspapers with the whole engine, in well under a minute;
`curtsy examples` writes complete declarations of practice sites into a folder."""

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curtsy.cli.console.api_connection import AsJson
from curtsy.cli.console.job_wait import wait_with_progress
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.runner import run, settings_for
from curtsy.client import ApiConnection, AsyncJob
from curtsy.errors import BadRequest

if TYPE_CHECKING:
    from curtsy.config import Settings

PAPERS = 3
DELAY_SECONDS = 0.2
SHOWN = 12
FOLDER = Path(__file__).parents[2] / "demo/examples"
PURPOSES = {
    "travel": "three offices with travel advisories: policies, sites, timetable",
    "jobs": "a job board, searched every hour",
    "monitoring": "Prometheus and Grafana: a scrape configuration, alert rules, a dashboard",
}
FIRST_RUN = {"travel": "us_state_dept", "jobs": "job_board"}
"""The site of each example that a newcomer runs first."""


def demo(as_json: AsJson = False) -> None:
    """Scrape three practice newspapers on this machine, without the internet.

    Takes half a minute. Shows progress, the articles, which pages failed and why, and how far apart
    the requests were by the newspapers' own logs. Leaves nothing behind.
    """
    from curtsy.demo.access_log import TICK_MS
    from curtsy.demo.news import article_paths
    from curtsy.demo.process import PracticeProcess
    from curtsy.demo.truth import smallest_gaps

    with tempfile.TemporaryDirectory(prefix="curtsy-demo-") as folder:
        settings = settings_for(
            database_url=f"sqlite:///{Path(folder) / 'demo.db'}", log_level="ERROR",
            allow_addresses="127.0.1.0/24", min_delay_seconds=DELAY_SECONDS, retry_base=0.5,
            retry_cap=2, user_agent="curtsy-demo",
        )  # fmt: skip
        with PracticeProcess(hosts=PAPERS) as site:
            urls = [site.url(n, path) for n in range(PAPERS) for path in article_paths()]
            note(f"Three practice newspapers run on this machine. Fetching {len(urls)} of their "
                 f"pages, at most one every {DELAY_SECONDS:g} s from each newspaper.")  # fmt: skip
            found = run(_scrape(settings, urls))
            closest = min(smallest_gaps(site.entries()).values())
    done = [one for one in found if "error" not in one]
    reasons = Counter((one["kind"], one["error"]) for one in found if "error" in one)
    if as_json:
        echo_json(_facts(done, reasons, closest))
        return
    _show(done, reasons)
    note(f"The newspapers' own logs show that no two requests to one of them were closer than "
         f"{closest:.3f} s (their timestamps may be {2 * TICK_MS / 1000:g} s late).")  # fmt: skip


async def _scrape(settings: "Settings", urls: list[str]) -> list[dict[str, Any]]:
    from curtsy.processes.local_api import whole_engine

    async with whole_engine(settings) as http:
        api = ApiConnection(http)
        body = {"articles": [{"url": url} for url in urls], "name": "demonstration"}
        created = await api.request("POST", "/jobs/submit", body=body)
        job = AsyncJob(api, created["job_id"])
        try:
            await wait_with_progress(job, created["total_articles"])
        except asyncio.CancelledError:
            note("Stopped: the practice newspapers are closed, and nothing is left behind.")
            raise
        return [found async for found in job.results()]


Reasons = Counter[tuple[str, str]]


def _facts(done: list[dict[str, Any]], reasons: Reasons, closest: float) -> dict[str, Any]:
    failures = [{"kind": kind, "error": error, "pages": number}
                for (kind, error), number in reasons.most_common()]  # fmt: skip
    return {"articles": len(done), "failed": reasons.total(), "failures": failures,
            "titles": [one["title"] for one in done[:SHOWN]], "closest_seconds": round(closest, 3),
            "delay_seconds": DELAY_SECONDS}  # fmt: skip


def _show(done: list[dict[str, Any]], reasons: Reasons) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title=f"{len(done)} articles (the first {SHOWN})", title_justify="left")
    for heading in ("title", "date", "words", "language"):
        table.add_column(heading)
    for one in done[:SHOWN]:
        words = str(len(one["content"].split()))
        table.add_row(one["title"], one.get("date") or "", words, one.get("language") or "")
    console.print(table)
    table = Table(
        title=f"{reasons.total()} pages that are not articles, and why", title_justify="left"
    )
    for heading in ("pages", "kind", "reason"):
        table.add_column(heading)
    for (kind, error), number in reasons.most_common():
        table.add_row(str(number), kind, error)
    console.print(table)


def examples(
    name: Annotated[str | None, typer.Argument(help="The example.", metavar="NAME")] = None,
    into: Annotated[Path, typer.Option(help="The folder to write to.", metavar="FOLDER")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a complete example into a folder: policies, sites with recipes, and a timetable.

    The sites are replicas on a practice site, which runs on this machine. `monitoring` has the
    files for Prometheus and Grafana. Without a name, lists the examples.
    """
    if name is None:
        listed = "\n".join(f"{known:12}{purpose}" for known, purpose in PURPOSES.items())
        echo_json({"examples": PURPOSES}) if as_json else echo(listed)
        return
    if name not in PURPOSES:
        raise BadRequest([f"There is no example {name!r}: there are {', '.join(PURPOSES)}."])
    files = sorted((FOLDER / name).iterdir())
    if not into.is_dir():
        raise BadRequest([f"There is no folder {into}."])
    if not force and (there := [file.name for file in files if (into / file.name).exists()]):
        sentence = f"{into.absolute()} has {', '.join(there)} already; nothing was written."
        raise BadRequest([sentence, "Choose another folder with --into, or use --force."])
    for file in files:
        (into / file.name).write_bytes(file.read_bytes())
    written = [str(into / file.name) for file in files]
    if as_json:
        echo_json({"files": written})
        return
    echo("\n".join(written))
    note(_next_steps(name))


def _next_steps(name: str) -> str:
    if name not in FIRST_RUN:
        return """Next: prometheus --config.file=prometheus.yml, in that folder; in Grafana, import
grafana-dashboard.json and choose that Prometheus as its data source."""
    return f"""To try it, each in a terminal in that folder:
  python -m curtsy.demo --port 8000
  CURTSY_ALLOW_ADDRESSES=127.0.1.0/24 CURTSY_API_PORT=8001 curtsy up
  curtsy schedules run {FIRST_RUN[name]} --wait"""
