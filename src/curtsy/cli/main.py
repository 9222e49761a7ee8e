"""The program `curtsy`: its commands, their groups and the headings of its help."""

from collections.abc import Callable
from typing import Annotated

import typer

from curtsy import __version__
from curtsy.cli.commands import (
    backup,
    config,
    crawl,
    db,
    dead_letters,
    demo,
    doctor,
    health,
    jobs,
    keys,
    maintenance,
    not_built,
    plan,
    processes,
    rate_limits,
    schedule,
    schedules,
    scrape,
    sites,
    sources,
    streams,
    try_page,
    why,
)
from curtsy.cli.console.error_output import run_command_line
from curtsy.cli.console.help import Command, Group
from curtsy.cli.console.output import echo

HELP_NAMES = {"help_option_names": ["-h", "--help"]}
Functions = tuple[Callable[..., None], ...]
COMMANDS: dict[str, Functions] = {
    "Start here": (demo.demo, scrape.scrape, try_page.try_, demo.examples, processes.up,
                   processes.stop),
    "Jobs": (plan.plan, jobs.submit, crawl.crawl, jobs.status, why.why, streams.logs,
             streams.watch, jobs.results, jobs.jobs, jobs.retry, jobs.pause, jobs.resume,
             jobs.cancel),
    "Schedules": (schedule.schedule,),
    "Operation": (doctor.doctor, health.health, health.metrics, rate_limits.rate_limits,
                  maintenance.process_dlq, maintenance.cleanup, backup.backup, backup.restore,
                  processes.api, processes.worker, processes.scheduler),
}  # fmt: skip
NOT_BUILT: Functions = (not_built.export, not_built.discover, not_built.generate_report)
"""They answer by name, but no help lists them."""
GROUPS: dict[str, tuple[str, Functions]] = {
    "schedules": ("Create, list, change and run schedules: jobs that start at set times.",
                  (schedules.list, schedules.show, schedules.add, schedules.edit,
                   schedules.pause, schedules.resume, schedules.run, schedules.remove)),
    "sites": ("List and show declared sites, scrape them, print their records.",
              (sites.list, sites.show, sites.run, sites.records)),
    "sources": ("Describe what each site allows, show its state, pause it.",
                (sources.list, sources.show, sources.set, sources.pause, sources.resume,
                 sources.remove, sources.apply, sources.receipt)),
    "keys": ("Create, list, rotate and revoke the keys of API users.",
             (keys.add, keys.list, keys.rotate, keys.revoke, keys.webhook_secret)),
    "db": ("Upgrade or check the database's schema.", (db.upgrade, db.check)),
    "config": ("Check the settings.", (config.check,)),
}  # fmt: skip


def _show_version(requested: bool) -> None:
    if requested:
        echo(f"curtsy {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Fetches web pages as fast as each site allows, never faster, and loses none.

    `curtsy COMMAND --help` explains a command and shows examples. Commands about jobs, schedules
    and sources work on the local database, or with --url on an API elsewhere.
    """


def _build() -> typer.Typer:
    program = typer.Typer(
        name="curtsy", cls=Group, rich_markup_mode=None, pretty_exceptions_enable=False,
        context_settings=HELP_NAMES,
    )  # fmt: skip
    program.callback()(_options)
    for heading, functions in COMMANDS.items():
        for function in functions:
            name = function.__name__.rstrip("_").replace("_", "-")  # `try` is a keyword
            program.command(name, cls=Command, rich_help_panel=heading)(function)
    for function in NOT_BUILT:
        program.command(function.__name__.replace("_", "-"), cls=Command, hidden=True)(function)
    letters = typer.Typer(cls=Group, rich_markup_mode=None)
    letters.callback(invoke_without_command=True)(dead_letters.dead_letters)
    letters.command(cls=Command)(dead_letters.show)
    program.add_typer(letters, name="dead-letters", rich_help_panel="Jobs")
    for name, (purpose, functions) in GROUPS.items():
        group = typer.Typer(cls=Group, help=purpose, rich_markup_mode=None)
        for function in functions:
            group.command(cls=Command)(function)
        panel = "Schedules" if name in ("schedules", "sites") else "Operation"
        program.add_typer(group, name=name, rich_help_panel=panel)
    return program


commands = _build()


def main() -> None:
    run_command_line(commands)
