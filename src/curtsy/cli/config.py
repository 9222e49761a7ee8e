"""`curtsy config`: what every setting is, and who said so."""

import os
from typing import Annotated

import orjson
import typer

from curtsy.cli.table import table
from curtsy.config import load
from curtsy.config.obsolete import obsolete_variables
from curtsy.config.reading import origins, shown, unknown_variables

commands = typer.Typer(help="The settings.", no_args_is_help=True)


@commands.command()
def check(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """Every setting with its value and where that came from; exit code 1 if one is wrong."""
    settings = load()
    came_from = origins()
    rows = [(name.upper(), shown(name, value), came_from[name]) for name, value in settings]
    if as_json:
        said = [{"name": n, "value": getattr(settings, n.lower()) if n != "DATABASE_URL" else v,
                 "from": origin} for n, v, origin in rows]  # fmt: skip
        print(orjson.dumps(said).decode())
        return
    print("\n".join(table(("setting", "value", "from"), rows)))
    for name in unknown_variables(os.environ):
        print(f"\n{name} is set, but there is no such setting: it has no effect.")
    for name, instead in obsolete_variables(os.environ).items():
        print(f"\n{name} is set, but means nothing here. In its place: {instead}.")
