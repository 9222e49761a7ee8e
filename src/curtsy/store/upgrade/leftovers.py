"""Tables of a newer schema that a restored backup has left in the database."""

from collections.abc import Sequence

from curtsy.errors import UpgradeWaits
from curtsy.store.connection import Connection
from curtsy.store.dialects import Statement
from curtsy.store.store import Store
from curtsy.store.upgrade.plan import Migration
from curtsy.store.version import version_in

_EXISTING = Statement("SELECT name FROM {names} WHERE {table_exists}", names={"name": "text"})


async def refuse_leftovers(store: Store, version: str, missing: Sequence[Migration]) -> None:
    """Raises `UpgradeWaits` if a table exists that a migration is yet to create: `pg_restore` drops
    only those tables that its backup has."""
    new = [migration for migration in missing if migration.oldest_program]
    names = [(name,) for migration in new for name in migration.creates]

    def read(connection: Connection) -> list[str]:
        found = sorted(_EXISTING(connection, names=names).scalars())
        # else another upgrade may have made them meanwhile
        return found if version_in(connection) == version else []

    if names and (left := await store.read(read)):
        raise UpgradeWaits(
            f"The database has schema {version}, but also tables of a newer one, which a backup "
            f"that was restored over it has left: {', '.join(left)}. The backup is complete "
            f"without them. Nothing was changed: `DROP TABLE {', '.join(left)};` removes them, "
            "then run `curtsy db upgrade` again."
        )
