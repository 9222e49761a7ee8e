"""Which programs may work with this schema."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
oldest_program = "0013"
branch_labels = None
depends_on = None

_Key = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    """`store.upgrade` inserts the rows, after each migration."""
    op.create_table(
        "schema_support",
        sa.Column("revision", _Key, primary_key=True),
        sa.Column("oldest_program", _Key, nullable=False),
        sqlite_with_rowid=False,
    )
    op.add_column("workers", sa.Column("program_schema", _Key))
    op.add_column("schedulers", sa.Column("program_schema", _Key))
