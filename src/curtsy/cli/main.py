"""The commands."""

from collections.abc import Callable
from typing import Annotated

import typer

from curtsy import __version__
from curtsy.cli import (
    config,
    crawl,
    demo,
    doctor,
    jobs,
    keys,
    letters,
    listing,
    processes,
    schema,
    scrape,
    streams,
    up,
)
from curtsy.cli.saying import say
from curtsy.cli.teaching import Command, Group
from curtsy.cli.telling import told

HELP_NAMES = {"help_option_names": ["-h", "--help"]}
Functions = tuple[Callable[..., None], ...]
COMMANDS: dict[str, Functions] = {
    "Start here": (demo.demo, scrape.scrape, up.up, up.stop),
    "Jobs": (jobs.submit, crawl.crawl, jobs.status, streams.logs, streams.watch, jobs.results,
             listing.jobs, letters.dead_letters, jobs.retry, jobs.pause, jobs.resume,
             jobs.cancel),
    "Operation": (doctor.doctor, processes.api, processes.worker, processes.scheduler),
}  # fmt: skip
GROUPS: dict[str, tuple[str, Functions]] = {
    "keys": ("Who may use the API: make keys, list, rotate and revoke them.",
             (keys.add, keys.list, keys.rotate, keys.revoke)),
    "db": ("The database's schema: upgrade it, check it.", (schema.upgrade, schema.check)),
    "config": ("The settings: check them.", (config.check,)),
}  # fmt: skip


def _show_version(asked: bool) -> None:
    if asked:
        say(f"curtsy {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Fetches web pages as fast as each site allows, never faster, and loses none.

    `curtsy COMMAND --help` tells more of each. Commands about jobs work on the local database, or
    on a service elsewhere with --url.
    """


def _made() -> typer.Typer:
    made = typer.Typer(
        name="curtsy", cls=Group, rich_markup_mode=None, pretty_exceptions_enable=False,
        context_settings=HELP_NAMES,
    )  # fmt: skip
    made.callback()(_options)
    for heading, functions in COMMANDS.items():
        for function in functions:
            made.command(cls=Command, rich_help_panel=heading)(function)
    for name, (purpose, functions) in GROUPS.items():
        group = typer.Typer(cls=Group, help=purpose, rich_markup_mode=None)
        for function in functions:
            group.command(cls=Command)(function)
        made.add_typer(group, name=name, rich_help_panel="Operation")
    return made


commands = _made()


def main() -> None:
    told(commands)
