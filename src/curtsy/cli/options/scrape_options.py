"""The options of `curtsy scrape`; `submit` has some of them."""

from typing import Annotated

import typer

Lists = list[str] | None

Feed = Annotated[
    Lists,
    typer.Option(
        "--feed", metavar="URL", show_default=False,
        help="Scrape what this RSS, Atom or JSON feed lists and you have not seen yet; may be "
        "repeated.",
    ),
]  # fmt: skip
Sitemap = Annotated[
    Lists,
    typer.Option(
        "--sitemap", metavar="URL", show_default=False,
        help="The same for a sitemap, or a robots.txt that names sitemaps.",
    ),
]  # fmt: skip
SeenToo = Annotated[
    bool, typer.Option("--all", help="Of feeds and sitemaps, scrape entries seen before, too.")
]
MaxPages = Annotated[
    int | None,
    typer.Option(
        "--max-pages", min=1, max=1_000_000, metavar="N",
        help="The most pages of feeds and sitemaps, these included (10000).",
    ),
]  # fmt: skip
NewOnly = Annotated[
    bool,
    typer.Option("--new-only", help="Leave out URLs that were scraped before, whenever it was."),
]
MaxAge = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="SECONDS",
        help="Use stored articles up to this age; 0 fetches all pages again.",
    ),
]  # fmt: skip
GiveUp = Annotated[
    str,
    typer.Option(
        metavar="SPAN",
        help="Give up what is left once no page has ended for so long and none of its hosts "
        "answers, such as 5m. With `never`, wait for minutes until curtsy gives up the hosts.",
    ),
]
InOrder = Annotated[
    bool, typer.Option("--in-order", help="Write results at the end, in the order of the URLs.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")]
