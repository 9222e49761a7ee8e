"""Reports on the last hours."""

import sqlalchemy as sa
from alembic import op

from curtsy.store.upgrade.plan import LargeIndex

revision = "0016"
down_revision = "0015"
oldest_program = "0013"
large_indexes = (LargeIndex("receipts_by_day", "receipts", ("day",)),)
branch_labels = None
depends_on = None

_Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_Key = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    numbers = ("created_at", "since_at", "until_at", "ended", "failed")
    op.create_table(
        "stored_reports",
        sa.Column("id", _Id, autoincrement=True, nullable=False),
        sa.Column("public_id", _Key, nullable=False),
        sa.Column("trigger", sa.Text(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in numbers),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("public_id"),
        sqlite_autoincrement=True,
    )
    of_timetable = sa.text("trigger = 'schedule'")
    op.create_index("stored_reports_in_turn", "stored_reports", ["since_at"], unique=True,
                    sqlite_where=of_timetable, postgresql_where=of_timetable)  # fmt: skip
