"""The migrations as their files declare them: what each one does to programs that run already."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from alembic.config import Config
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection

from curtsy.store.version import MIGRATIONS

_CREATED = re.compile(r"\bcreate_table\(\s*\"(\w+)\"")


class LargeIndex(NamedTuple):
    """An index of a table that may have millions of rows. A migration declares it in
    `large_indexes`; PostgreSQL builds it beside the work, before the migration's transaction. Its
    columns must exist before that migration."""

    name: str
    table: str
    columns: tuple[str, ...]
    where: str | None = None

    def statement(self, *, concurrently: bool) -> str:
        how = "CONCURRENTLY " if concurrently else ""
        rows = f" WHERE {self.where}" if self.where else ""
        return f"CREATE INDEX {how}{self.name} ON {self.table} ({', '.join(self.columns)}){rows}"


@dataclass(frozen=True, slots=True)
class Migration:
    revision: str
    oldest_program: str | None
    """The oldest schema whose programs work with the result; None: a migration of the time before
    there were declarations."""
    large_indexes: tuple[LargeIndex, ...]
    creates: tuple[str, ...] = ()
    """Its new tables."""


def alembic_config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    if connection is not None:
        config.attributes["connection"] = connection
    return config


def all_migrations() -> list[Migration]:
    """The migrations that this program knows, the oldest first."""
    scripts = ScriptDirectory.from_config(alembic_config()).walk_revisions()
    return sorted(map(_migration, scripts), key=lambda migration: migration.revision)


def _migration(script: Script) -> Migration:
    declared = script.module
    return Migration(
        script.revision, getattr(declared, "oldest_program", None),
        getattr(declared, "large_indexes", ()),
        tuple(_CREATED.findall(Path(script.path).read_text())),
    )  # fmt: skip
