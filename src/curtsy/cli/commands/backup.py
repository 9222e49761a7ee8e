"""`curtsy backup` and `curtsy restore`: a copy of the database, made while the service runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from curtsy.cli.console.api_connection import AsJson
from curtsy.cli.console.database_file import SQLITE, require_file
from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.progress import spinner
from curtsy.cli.console.runner import settings_for

if TYPE_CHECKING:
    from curtsy.config import Settings

PASSWORD = "The password comes from PGPASSWORD or ~/.pgpass."  # noqa: S105 - a sentence
NOT_DONE = "PostgreSQL has programs of its own for this; nothing was done. Run this line:"


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the database to a file, also while the service runs.

    The copy is complete and checked when the file appears, and has everything acknowledged before
    it began. On PostgreSQL the command prints the line that does the same, and exits with code 1.
    """
    settings = settings_for()
    require_file(settings)
    database = _database_file(settings)
    from curtsy.store.backup import back_up, dump_line

    if database is None:
        _say_line(dump_line(settings.database_url, str(file)), as_json=as_json)
        return
    with spinner("Copying the database"):
        size = back_up(database, file.absolute(), replace=force)
    if as_json:
        echo_json({"file": str(file), "bytes": size})
    else:
        echo(f"{file}: {size:,} bytes, checked. Only its owner can read it.")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `curtsy backup`.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the database there is.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of the database, at once or not at all.

    Refuses while any process uses the database, and without --force if there is one. On PostgreSQL
    the command prints the line that does the same, and exits with code 1.
    """
    settings = settings_for()
    database = _database_file(settings)
    from curtsy.store.backup import RestoreRefused, restore_line
    from curtsy.store.backup import restore as put_in_place
    from curtsy.store.version import newest

    if database is None:
        _say_line(restore_line(settings.database_url, str(file)), as_json=as_json)
        return
    from curtsy.processes.lock_file import hold_lock, running_process
    from curtsy.processes.startup import check_folder

    check_folder(settings.database_url)
    if (process := running_process(settings)) is not None:
        raise RestoreRefused(
            f"{database} is in use by process {process}: end it with `curtsy stop`, then try again."
        )
    with hold_lock(settings), spinner("Restoring the database"):
        schema = put_in_place(file.absolute(), database, replace=force)
    if as_json:
        echo_json({"database": str(database), "schema": schema, "current": schema == newest()})
        return
    echo(f"{database}: restored from {file}, schema {schema}.")
    if schema < newest():
        note(f"This program needs schema {newest()}: `curtsy db upgrade` upgrades it.")


def _database_file(settings: "Settings") -> Path | None:
    """None: it is on PostgreSQL."""
    url = settings.database_url
    return Path(url.removeprefix(SQLITE)).absolute() if url.startswith(SQLITE) else None


def _say_line(line: str, *, as_json: bool) -> None:
    if as_json:
        echo_json({"run": line})
    else:
        echo(line)
    note(f"{NOT_DONE}\n{PASSWORD}" if not as_json else f"{NOT_DONE} {PASSWORD}")
    raise typer.Exit(FAILED)
