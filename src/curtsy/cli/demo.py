"""`curtsy demo`: the whole engine on a practice newspaper, in well under a minute."""

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from curtsy.app import whole_engine
from curtsy.cli.jobs import until_ended
from curtsy.cli.starting import run, settings_for
from curtsy.client import Talk
from curtsy.config import Settings
from curtsy.demo.access_log import TICK_MS
from curtsy.demo.news import article_paths
from curtsy.demo.process import PracticeProcess
from curtsy.demo.truth import smallest_gaps

PAPERS = 3
DELAY_SECONDS = 0.2
SHOWN = 12
STAMPS_LATE = 2 * TICK_MS / 1000


def demo() -> None:
    """Scrape a practice newspaper on this machine: progress, results, failures and why."""
    with tempfile.TemporaryDirectory(prefix="curtsy-demo-") as folder:
        settings = settings_for(
            database_url=f"sqlite:///{Path(folder) / 'demo.db'}", log_level="ERROR",
            allow_addresses="127.0.1.0/24", min_delay_seconds=DELAY_SECONDS, retry_base=0.5,
            retry_cap=2, user_agent="curtsy-demo",
        )  # fmt: skip
        with PracticeProcess(hosts=PAPERS) as site:
            urls = [site.url(n, path) for n in range(PAPERS) for path in article_paths()]
            _say(f"Three practice newspapers are open. Submitting {len(urls)} of their articles, "
                 f"with one request each {DELAY_SECONDS:g} s to each paper at most.")  # fmt: skip
            found = run(_scrape(settings, urls))
            gaps = smallest_gaps(site.entries())
        _show(found)
        closest = min(gaps.values())
        _say(f"By the papers' own logs, no two requests to one of them came closer than "
             f"{closest:.3f} s (their stamps may be {STAMPS_LATE:g} s late).")  # fmt: skip


async def _scrape(settings: Settings, urls: list[str]) -> list[dict[str, Any]]:
    async with whole_engine(settings) as http:
        api = Talk(http)
        body = {"articles": [{"url": url} for url in urls], "name": "demonstration"}
        made = await api.ask("POST", "/jobs/submit", body=body)
        await until_ended(api, made["job_id"], made["total_articles"])
        return [found async for found in api.results(made["job_id"])]


def _show(found: list[dict[str, Any]]) -> None:
    done = [one for one in found if "error" not in one]
    failed = [one for one in found if "error" in one]
    console = Console()
    table = Table(title=f"{len(done)} articles (the first {SHOWN})", title_justify="left")
    for heading in ("title", "date", "words", "language"):
        table.add_column(heading)
    for one in done[:SHOWN]:
        words = str(len(one["content"].split()))
        table.add_row(one["title"], one.get("date") or "", words, one.get("language") or "")
    console.print(table)
    reasons = Counter((one["kind"], one["error"]) for one in failed)
    table = Table(title=f"{len(failed)} that are no articles, and why", title_justify="left")
    for heading in ("pages", "kind", "because"):
        table.add_column(heading)
    for (kind, error), number in reasons.most_common():
        table.add_row(str(number), kind, error)
    console.print(table)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
