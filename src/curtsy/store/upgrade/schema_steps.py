"""Upgrades the schema beside the work.

Each migration is one transaction, so that it holds its locks for a moment, and an upgrade that ends
halfway goes on where it ended. A migration that older programs do not survive waits until none of
them is up.
"""

from alembic import command
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, text

from curtsy.errors import WrongSchema
from curtsy.store.schema_transaction import schema_transaction
from curtsy.store.store import Store
from curtsy.store.upgrade.index_builder import build_index
from curtsy.store.upgrade.leftovers import refuse_leftovers
from curtsy.store.upgrade.lock_patience import Busy, LockPatience, busy_if_locked
from curtsy.store.upgrade.outdated_programs import make_way, refuse_outdated, withdraw_announcements
from curtsy.store.upgrade.plan import Migration, alembic_config, all_migrations
from curtsy.store.version import FIRST_THAT_DECLARES, newest, require_support, version_in

UPGRADE_LOCK = 4_207_879  # arbitrary, but unique within the database
LOCK_SECONDS = 300.0
_TRY_LOCK = text(f"SELECT pg_try_advisory_xact_lock({UPGRADE_LOCK})")
_DECLARE = text(
    """
    INSERT INTO schema_support (revision, oldest_program) VALUES (:revision, :oldest_program)
    ON CONFLICT (revision) DO NOTHING
    """
)


async def upgrade(
    store: Store, *, force: bool = False, lock_seconds: float = LOCK_SECONDS
) -> tuple[str | None, str]:
    """Upgrades the schema, safely against concurrent upgrades. Returns the versions before and
    after; a newer schema that works with this program is left as it is, and an upgrade from the
    schema of this program that was interrupted before its migration is taken back.

    Waits at most `lock_seconds` for locks on PostgreSQL. Raises `UpgradeWaits` when they are not
    free by then, or when processes are up that the new schema does not work with; `force` ends
    those that can be ended, and upgrades whatever the others do.
    """
    known = all_migrations()
    patience = LockPatience(store, lock_seconds)
    before = await store.read(version_in)
    if before is None:
        await patience.retry(lambda: schema_transaction(store, lambda c: _all(c, known)),
                             what=newest())  # fmt: skip
        return before, newest()
    if before == newest():
        await withdraw_announcements(store)
    if before >= newest():
        await store.read(lambda c: require_support(c, version_in(c), newest()))
        return before, before
    if before not in {migration.revision for migration in known}:
        raise WrongSchema(before, newest())
    missing = [migration for migration in known if migration.revision > before]
    await refuse_leftovers(store, before, missing)
    if not force:
        await refuse_outdated(store, missing)
    for migration in missing:
        await _apply(store, migration, known, patience, force=force)
    return before, newest()


async def _apply(
    store: Store, migration: Migration, known: list[Migration], patience: LockPatience, *,
    force: bool,
) -> None:  # fmt: skip
    if not store.is_sqlite:
        for index in migration.large_indexes:
            await build_index(store, index, patience)
    async with make_way(store, migration, force=force):
        await patience.retry(
            lambda: schema_transaction(store, lambda c: _step(c, migration, known)),
            what=migration.revision,
        )


def _all(connection: Connection, known: list[Migration]) -> None:
    """Runs all migrations on an empty database, which nobody works on, in one transaction."""
    for migration in known:
        _step(connection, migration, known)


@busy_if_locked
def _step(connection: Connection, migration: Migration, known: list[Migration]) -> None:
    """Runs one migration, unless another process has run it meanwhile."""
    if connection.dialect.name == "postgresql" and not connection.scalar(_TRY_LOCK):
        raise Busy(of_upgrade=True)
    current = MigrationContext.configure(connection).get_current_revision()
    if current is not None and current >= migration.revision:
        return
    for index in migration.large_indexes:
        if not _exists(connection, index.name):
            connection.execute(text(index.statement(concurrently=False)))
    command.upgrade(alembic_config(connection), migration.revision)
    if migration.revision >= FIRST_THAT_DECLARES:
        connection.execute(_DECLARE, [
            {"revision": one.revision, "oldest_program": one.oldest_program}
            for one in known if one.oldest_program and one.revision <= migration.revision
        ])  # fmt: skip


def _exists(connection: Connection, index: str) -> bool:
    """Whether it was built before the transaction: PostgreSQL locks the table to find that out."""
    if connection.dialect.name != "postgresql":
        return False
    return connection.scalar(text("SELECT to_regclass(:index)"), {"index": index}) is not None
