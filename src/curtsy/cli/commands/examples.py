"""`curtsy examples`: writes complete declarations of sites, policies and schedules."""

from pathlib import Path
from typing import Annotated

import typer

from curtsy.cli.console.output import echo, note
from curtsy.errors import BadRequest

FOLDER = Path(__file__).parents[2] / "demo/examples"
PURPOSES = {
    "travel": "three offices with travel advisories: policies, sites, timetable",
    "jobs": "a job board, searched every hour",
}
FIRST_RUN = {"travel": "us_state_dept", "jobs": "job_board"}
"""The site of each example that a newcomer runs first."""


def examples(
    name: Annotated[str | None, typer.Argument(help="travel or jobs.", metavar="NAME")] = None,
    into: Annotated[Path, typer.Option(help="The folder to write to.", metavar="FOLDER")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Write a complete example into a folder: policies, sites with recipes, and a timetable.

    The sites are replicas on a practice site, which runs on this machine. Without a name, lists
    the examples.
    """
    if name is None:
        for known, purpose in PURPOSES.items():
            echo(f"{known:8}{purpose}")
        return
    if name not in PURPOSES:
        raise BadRequest([f"There is no example {name!r}: there are {' and '.join(PURPOSES)}."])
    files = sorted((FOLDER / name).glob("*.toml"))
    if not into.is_dir():
        raise BadRequest([f"There is no folder {into}."])
    if not force and (there := [file.name for file in files if (into / file.name).exists()]):
        sentence = f"{into.absolute()} has {', '.join(there)} already; nothing was written."
        raise BadRequest([sentence, "Choose another folder with --into, or use --force."])
    for file in files:
        (into / file.name).write_bytes(file.read_bytes())
        echo(str(into / file.name))
    note(_next_steps(name))


def _next_steps(name: str) -> str:
    return f"""To try it, each in a terminal in that folder:
  python -m curtsy.demo --port 8000
  CURTSY_ALLOW_ADDRESSES=127.0.1.0/24 CURTSY_API_PORT=8001 curtsy up
  curtsy schedules run {FIRST_RUN[name]} --wait"""
