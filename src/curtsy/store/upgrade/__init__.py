"""Upgrades the schema: imports Alembic and SQLAlchemy, which nothing else needs."""

from curtsy.store.upgrade.comparison import differences
from curtsy.store.upgrade.plan import alembic_config as _config
from curtsy.store.upgrade.schema_steps import upgrade

__all__ = ["_config", "differences", "upgrade"]
