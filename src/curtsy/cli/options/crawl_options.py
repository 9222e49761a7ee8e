"""The options of `curtsy crawl`: which links it follows, and which pages are results."""

from enum import StrEnum
from typing import Annotated

import typer


class Reach(StrEnum):
    PAGE = "page"
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"
    ANY = "any"


Depth = Annotated[
    int | None,
    typer.Option(
        min=0, max=100, metavar="N",
        help="How many links deep to follow: 1 from pages, 0 from feeds and sitemaps only.",
    ),
]  # fmt: skip
Scope = Annotated[
    Reach,
    typer.Option(
        metavar="REACH", help="How far links may lead: page, prefix, host, domain or any."
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Fetch only these URLs, such as */blog/*."),
]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="PATTERN", help="Do not fetch these URLs.")
]
Follow = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Follow only links on pages with these URLs."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Only pages with these URLs are results."),
]
MaxPages = Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of pages.")]
Spider = Annotated[str, typer.Option(metavar="NAME", help="Scraper: article, raw or your own.")]
