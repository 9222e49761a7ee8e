"""`curtsy db`: upgrades and checks the database's schema, and makes its file smaller."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curtsy.cli.console.api_connection import AsJson
from curtsy.cli.console.database_file import require_file
from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.progress import spinner
from curtsy.cli.console.runner import run, settings_for

if TYPE_CHECKING:
    from curtsy.config import Settings

DIFFERENCES_SHOWN = 5
NO_DOWNGRADE = (
    "A schema is never downgraded: nothing was changed. To go back to an older curtsy, first try "
    "to start it: it works with a newer schema that supports it, and otherwise says so and changes "
    "nothing. If it does not start, restore the backup that was made before the upgrade "
    "(`curtsy restore FILE --force`, on PostgreSQL the line that it prints)."
)


def upgrade(
    force: Annotated[
        bool,
        typer.Option("--force", help="Also while processes are up that the new schema ends."),
    ] = False,
    wait: Annotated[
        float,
        typer.Option(min=0, max=86_400, metavar="SECONDS", help="How long to wait for locks."),
    ] = 300.0,
    as_json: AsJson = False,
) -> None:
    """Upgrade the schema to the version that this program needs.

    Safe while the service runs, and by several processes at once: processes of the version before
    go on. A migration that older processes do not survive is refused while any is up; --force asks
    them to end, waits a minute for those that can, and goes on. On PostgreSQL the upgrade waits for
    locks in short tries, between which work goes on.
    """
    settings = settings_for(log_level="WARNING")
    before, after = run(_upgrade(settings, force=force, wait=wait), doing="Upgrading the schema")
    if as_json:
        echo_json({"schema": after, "before": before, "upgraded": before != after})
    elif before != after:
        echo(f"Schema {after}: upgraded from {before or 'an empty database'}.")
    elif (own := _own_schema()) != after:
        echo(f"Schema {after}: nothing to do, it is newer than this program's {own} and works "
             "with it.")  # fmt: skip
    else:
        echo(f"Schema {after}: nothing to do, it was current.")


def downgrade(
    revision: Annotated[str, typer.Argument(hidden=True)] = "",  # noqa: ARG001 - as alembic has it
) -> None:
    """Refused: says how to go back to an older curtsy.

    Changes nothing, and ends with exit code 1.
    """
    note(f"curtsy: {NO_DOWNGRADE}")
    raise typer.Exit(FAILED)


def check(as_json: AsJson = False) -> None:
    """Check the schema; exit code 1 unless it is the one that this program needs.

    A newer schema that works with this program is as good: its tables are not compared.
    """
    settings = settings_for(log_level="WARNING")
    require_file(settings)
    own, stored, found = run(_check(settings), doing="Comparing the schema")
    if as_json:
        echo_json(_checked(own, stored, found))
    elif stored != own:
        echo(f"Schema {stored}: newer than this program's {own}, and works with it.")
    elif not found:
        echo(f"Schema {own}: current.")
    else:
        left = len(found) - DIFFERENCES_SHOWN
        more = f" and {left} more" if left > 0 else ""
        note(f"curtsy: The schema differs from {own}: "
             f"{'; '.join(found[:DIFFERENCES_SHOWN])}{more}.")  # fmt: skip
    if found:
        raise typer.Exit(FAILED)


def vacuum(as_json: AsJson = False) -> None:
    """Rewrite a SQLite file without its free space. Stop curtsy before.

    Cleanup cannot make a file smaller that an older curtsy created: after one vacuum it can. The
    disk needs twice the size of the file for a while. PostgreSQL needs no such thing.
    """
    settings = settings_for(log_level="WARNING")
    require_file(settings)
    from curtsy.processes.lock_file import hold_lock, running_process
    from curtsy.store.database_url import parse_database_url
    from curtsy.store.vacuum import VacuumRefused
    from curtsy.store.vacuum import vacuum as rewrite

    url = parse_database_url(settings.database_url)
    if not url.is_sqlite:
        raise VacuumRefused("Nothing was done: PostgreSQL vacuums its tables by itself.")
    if (process := running_process(settings)) is not None:
        sentence = f"process {process}: end it with `curtsy stop`, then try again"
        raise VacuumRefused(f"{url.database} is in use by {sentence}.")
    with hold_lock(settings), spinner("Rewriting the file"):
        sizes = rewrite(Path(url.database or ""))
    if as_json:
        echo_json({"bytes_before": sizes.before, "bytes": sizes.after})
    else:
        echo(f"{url.database}: {sizes.after:,} bytes, before {sizes.before:,}.")


def _checked(own: str, stored: str, found: list[str]) -> dict[str, Any]:
    return {"schema": stored, "program_schema": own, "current": stored == own and not found,
            "differences": found}  # fmt: skip


def _own_schema() -> str:
    from curtsy.store.version import newest

    return newest()


async def _upgrade(settings: "Settings", *, force: bool, wait: float) -> tuple[str | None, str]:
    from curtsy.processes.startup import opened
    from curtsy.store.upgrade import upgrade as upgrade_schema

    async with opened(settings) as store:
        return await upgrade_schema(store, force=force, lock_seconds=wait)


async def _check(settings: "Settings") -> tuple[str, str, list[str]]:
    """The schema of this program, that of the database, and the differences if both are one."""
    from curtsy.processes.startup import opened
    from curtsy.store.upgrade import differences
    from curtsy.store.version import newest, require_known_schema, stored_version

    async with opened(settings) as store:
        await require_known_schema(store)
        stored = await stored_version(store) or newest()
        return newest(), stored, await differences(store) if stored == newest() else []
