"""Alembic's entry: it runs inside a transaction that `store.upgrade` opened."""

from alembic import context

from curtsy.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
