"""The options that start a crawl from feeds and sitemaps."""

from typing import Annotated, Any

import typer

from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.url_arguments import read_urls

Feeds = Annotated[
    list[str] | None,
    typer.Option(
        "--feed", metavar="URL",
        help="Start from what is new in this feed (RSS, Atom, JSON Feed); may be repeated.",
    ),
]  # fmt: skip
Sitemaps = Annotated[
    list[str] | None,
    typer.Option(
        "--sitemap", metavar="URL",
        help="Start from what is new in this sitemap, index or robots.txt; may be repeated.",
    ),
]  # fmt: skip
AllEntries = Annotated[
    bool,
    typer.Option("--all", help="Fetch all entries of --feed and --sitemap, also those seen."),
]


def start_field(
    feeds: list[str] | None, sitemaps: list[str] | None, *, all_entries: bool
) -> dict[str, Any]:
    """The field `start` of a crawl; empty without these options."""
    if not (feeds or sitemaps):
        if all_entries:
            raise WrongUsage("--all is for the entries of --feed and --sitemap.")
        return {}
    named = {name: read_urls(urls, None)
             for name, urls in (("feed", feeds), ("sitemap", sitemaps)) if urls}  # fmt: skip
    return {"start": named | ({"new_only": False} if all_entries else {})}
