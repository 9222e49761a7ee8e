"""`curtsy sources receipt`: what a site had of us, day by day."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from curtsy.cli.commands.sources import NameArgument, ask, path_of
from curtsy.cli.console.connection import AsJson, Url
from curtsy.cli.console.output import say, say_json
from curtsy.cli.console.startup import run
from curtsy.cli.console.table import table

HEADS = ("day", "requests", "smallest gap", "waits honoured", "unchanged", "bytes", "saved",
         "left out")  # fmt: skip


def receipt(
    name: NameArgument,
    days: Annotated[
        int, typer.Option(min=1, max=92, metavar="N", help="How many, today included.")
    ] = 7,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """What the site had of us, day by day: proof of good manners.

    In a browser, /sources/NAME/receipt of the API is a page that you can send to the site's owner.
    """
    path = f"{path_of(name)}/receipt"
    found = run(ask(url, "GET", path, query={"days": days}), doing="Looking for it")
    if as_json:
        say_json(found)
    else:
        say("\n".join(_page(found)))


def _page(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['source']} ({', '.join(found['hosts'])})"
    rows = [_cells(day["day"], day) for day in found["days"]]
    yield from table(HEADS, [*rows, _cells("in all", found["total"])])


def _cells(name: str, day: dict[str, Any]) -> tuple[str, ...]:
    gap = day["smallest_gap_seconds"]
    return (
        name, f"{day['requests']:,}", "-" if gap is None else f"{gap:.3f} s",
        f"{day['retry_afters_honoured']:,}", f"{day['not_modified']:,}", f"{day['bytes']:,}",
        f"{day['bytes_saved']:,}", f"{day['robots_refusals']:,}",
    )  # fmt: skip
