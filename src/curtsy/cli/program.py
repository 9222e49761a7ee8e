"""Builds the command line from the table in `main`: the whole of it, or one command."""

import gc
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Annotated

import typer

from curtsy import __version__
from curtsy.cli.console.help import Command, Group
from curtsy.cli.console.output import echo
from curtsy.cli.main import ACTIVE_GROUPS, COMMANDS, GROUPS, NOT_BUILT

HELP_NAMES = {"help_option_names": ["-h", "--help"]}


def hasten_imports() -> None:
    """Saves work that imports cause and no command needs.

    Imports create many objects and hardly any garbage: searching for it took a tenth of the start.
    A process that opens the store sets limits for its work later. httpx loads its own command line,
    with click, rich and pygments, and does without where that cannot be imported.
    """
    gc.set_threshold(200_000, 20, 100)
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None: no such module


def build(chosen: str | None = None) -> typer.Typer:
    """Returns the command line: of only the chosen command where there is one of that name."""
    program = typer.Typer(
        name="curtsy", cls=Group, rich_markup_mode=None, pretty_exceptions_enable=False,
        context_settings=HELP_NAMES,
    )  # fmt: skip
    program.callback()(_options)
    found = [one for one in _parts() if one[0] == chosen]
    for _name, add in found or _parts():
        add(program)
    return program


Part = tuple[str, Callable[[typer.Typer], None]]


def _parts() -> Iterable[Part]:
    """The name of each command and group, and what adds it to the program."""
    for heading, places in COMMANDS.items():
        for place in places:
            yield _command(place, rich_help_panel=heading)
    for place in NOT_BUILT:
        yield _command(place, hidden=True)
    for name, (heading, places) in ACTIVE_GROUPS.items():
        yield _active_group(name, heading, places)
    for name, (purpose, places) in GROUPS.items():
        yield _group(name, purpose, places)


def _command(place: str, *, rich_help_panel: str | None = None, hidden: bool = False) -> Part:
    name = place.partition(".")[2].rstrip("_").replace("_", "-")  # `try` is a keyword

    def add(program: typer.Typer) -> None:
        shown = program.command(name, cls=Command, hidden=hidden, rich_help_panel=rich_help_panel)
        shown(_function(place))

    return name, add


def _active_group(name: str, heading: str, places: Iterable[str]) -> Part:
    def add(program: typer.Typer) -> None:
        group = typer.Typer(cls=Group, rich_markup_mode=None)
        by_itself, *rest = map(_function, places)
        group.callback(invoke_without_command=True)(by_itself)
        for function in rest:
            group.command(function.__name__.rstrip("_"), cls=Command)(function)
        program.add_typer(group, name=name, rich_help_panel=heading)

    return name, add


def _group(name: str, purpose: str, places: Iterable[str]) -> Part:
    def add(program: typer.Typer) -> None:
        group = typer.Typer(cls=Group, help=purpose, rich_markup_mode=None)
        for place in places:
            group.command(cls=Command)(_function(place))
        panel = "Schedules" if name in ("schedules", "sites") else "Operation"
        program.add_typer(group, name=name, rich_help_panel=panel)

    return name, add


def _function(place: str) -> Callable[..., None]:
    module, _, name = place.partition(".")
    found: Callable[..., None] = getattr(import_module(f"curtsy.cli.commands.{module}"), name)
    return found


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
