"""`curtsy db`: the database's schema."""

import sys

import typer

from curtsy.app import opened
from curtsy.cli.starting import run, settings_for
from curtsy.config import Settings
from curtsy.store.upgrade import differences, newest, require_known_schema
from curtsy.store.upgrade import upgrade as upgrade_schema

commands = typer.Typer(help="The database's schema.", no_args_is_help=True)

DIFFERENCES_SHOWN = 5


@commands.command()
def upgrade() -> None:
    """Bring the schema up to date; safe to run at any time and by several at once."""
    before, after = run(_upgrade(settings_for()))
    print(f"Schema {after}: it was current." if before == after else
          f"Schema {after}: upgraded from {before or 'an empty database'}.")  # fmt: skip


@commands.command()
def check() -> None:
    """Exit code 1 unless the schema is the one this program needs."""
    found = run(_check(settings_for()))
    if found:
        more = (
            f" and {len(found) - DIFFERENCES_SHOWN} more" if len(found) > DIFFERENCES_SHOWN else ""
        )
        shown = "; ".join(found[:DIFFERENCES_SHOWN])
        print(f"curtsy: The schema differs from {newest()}: {shown}{more}.", file=sys.stderr)
        raise typer.Exit(1)
    print(f"Schema {newest()}: current.")


async def _upgrade(settings: Settings) -> tuple[str | None, str]:
    async with opened(settings) as store:
        return await upgrade_schema(store)


async def _check(settings: Settings) -> list[str]:
    async with opened(settings) as store:
        await require_known_schema(store)
        return await differences(store)
