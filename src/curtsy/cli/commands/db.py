"""`curtsy db`: upgrades and checks the database's schema."""

from typing import TYPE_CHECKING

import typer

from curtsy.cli.console.api_connection import AsJson
from curtsy.cli.console.database_file import require_file
from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.runner import run, settings_for

if TYPE_CHECKING:
    from curtsy.config import Settings

DIFFERENCES_SHOWN = 5


def upgrade(as_json: AsJson = False) -> None:
    """Upgrade the schema to the version that this program needs.

    Safe to run at any time, also by several processes at once.
    """
    before, after = run(_upgrade(settings_for(log_level="WARNING")), doing="Upgrading the schema")
    if as_json:
        echo_json({"schema": after, "before": before, "upgraded": before != after})
    elif before == after:
        echo(f"Schema {after}: nothing to do, it was current.")
    else:
        echo(f"Schema {after}: upgraded from {before or 'an empty database'}.")


def check(as_json: AsJson = False) -> None:
    """Check the schema; exit code 1 unless it is the one that this program needs."""
    settings = settings_for(log_level="WARNING")
    require_file(settings)
    wanted, found = run(_check(settings), doing="Comparing the schema")
    if as_json:
        echo_json({"schema": wanted, "current": not found, "differences": found})
    elif not found:
        echo(f"Schema {wanted}: current.")
    else:
        left = len(found) - DIFFERENCES_SHOWN
        more = f" and {left} more" if left > 0 else ""
        note(f"curtsy: The schema differs from {wanted}: "
             f"{'; '.join(found[:DIFFERENCES_SHOWN])}{more}.")  # fmt: skip
    if found:
        raise typer.Exit(FAILED)


async def _upgrade(settings: "Settings") -> tuple[str | None, str]:
    from curtsy.processes.startup import opened
    from curtsy.store.upgrade import upgrade as upgrade_schema

    async with opened(settings) as store:
        return await upgrade_schema(store)


async def _check(settings: "Settings") -> tuple[str, list[str]]:
    from curtsy.processes.startup import opened
    from curtsy.store.upgrade import differences
    from curtsy.store.version import newest, require_known_schema

    async with opened(settings) as store:
        await require_known_schema(store)
        return newest(), await differences(store)
