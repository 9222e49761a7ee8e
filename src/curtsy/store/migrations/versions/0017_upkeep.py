"""The marks of the maintenance timetable, and how often PostgreSQL vacuums the tables that change
most."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
oldest_program = "0013"
branch_labels = None
depends_on = None

_Key = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")

_OFTEN: dict[str, float] = {
    "autovacuum_vacuum_scale_factor": 0, "autovacuum_vacuum_threshold": 500,
    "autovacuum_vacuum_cost_delay": 0,
}  # fmt: skip
"""Few rows, each changed again and again: the dead ones would soon be most of the table."""
_SOON: dict[str, float] = {
    "autovacuum_vacuum_scale_factor": 0.02, "autovacuum_vacuum_threshold": 1_000,
    "autovacuum_analyze_scale_factor": 0.02, "autovacuum_vacuum_cost_delay": 1,
}  # fmt: skip
"""Many rows, of which a batch is inserted or deleted at a time."""
SETTINGS: dict[str, dict[str, float]] = {
    "visits": _OFTEN | {"autovacuum_vacuum_scale_factor": 0.01},
    "sources": _OFTEN | {"autovacuum_vacuum_scale_factor": 0.01, "fillfactor": 80},
    "workers": _OFTEN,
    "schedulers": _OFTEN,
    "schedules": _OFTEN | {"autovacuum_vacuum_scale_factor": 0.01},
    "jobs": _SOON | {"fillfactor": 80},
    "links": _OFTEN | {"autovacuum_vacuum_scale_factor": 0.01},
    "receipts": _SOON | {"fillfactor": 80},
    "history": _SOON | {"fillfactor": 80},
    **dict.fromkeys(("history_batches", "history_state", "alerts", "alert_evaluations"), _OFTEN),
    **dict.fromkeys(("alert_changes", "alert_deliveries", "attempts", "crawled", "dead_letters",
                     "documents", "events", "firings", "hosts", "items", "pages", "records",
                     "sightings", "submissions", "webhook_deliveries"), _SOON),
}  # fmt: skip
"""The storage parameters of each table, in place of the server's defaults: those wait until a fifth
of a table is dead."""


def upgrade() -> None:
    op.create_table(
        "offers",
        sa.Column("name", _Key, nullable=False),
        sa.Column("offered_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        for table, settings in SETTINGS.items():
            given = ", ".join(f"{name} = {value}" for name, value in settings.items())
            op.execute(f"ALTER TABLE {table} SET ({given})")
