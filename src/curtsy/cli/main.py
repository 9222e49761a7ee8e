"""The commands."""

from typing import Annotated

import typer

from curtsy import __version__
from curtsy.app import run_worker, serve_api
from curtsy.cli import config, demo, doctor, jobs, letters, schema, scrape, up
from curtsy.cli.starting import run, settings_for, told
from curtsy.cli.up import Host, Port, Slots

commands = typer.Typer(
    name="curtsy",
    help="A distributed job scheduler for web scraping.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
commands.add_typer(schema.commands, name="db")
commands.add_typer(config.commands, name="config")
for command in (up.up, up.stop, scrape.scrape, jobs.submit, jobs.status, jobs.results,
                jobs.cancel, jobs.retry, jobs.pause, jobs.resume, jobs.jobs):  # fmt: skip
    commands.command(command.__name__)(command)
commands.command("dead-letters")(letters.dead_letters)
commands.command("doctor")(doctor.doctor)
commands.command("demo")(demo.demo)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"curtsy {__version__}")
        raise typer.Exit


@commands.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """A distributed job scheduler for web scraping."""


@commands.command()
def api(host: Host = None, port: Port = None) -> None:
    """Serve the HTTP API; workers run as processes of their own."""
    run(serve_api(settings_for(api_host=host, api_port=port)))


@commands.command()
def worker(slots: Slots = None) -> None:
    """Fetch pages until told to stop; run as many as you like."""
    run(run_worker(settings_for(worker_slots=slots)))


def main() -> None:
    told(commands)
