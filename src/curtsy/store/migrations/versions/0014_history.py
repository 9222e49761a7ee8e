"""What happened, kept by minute, hour and day."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
oldest_program = "0013"
branch_labels = None
depends_on = None

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "history_batches",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("counted", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sqlite_autoincrement=True,
    )
    new = sa.text("NOT counted")
    op.create_index("history_batches_new", "history_batches", ["id"], sqlite_where=new,
                    postgresql_where=new)  # fmt: skip
    op.create_table(
        "history_state",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("totals_due_at", sa.BigInteger, nullable=False),
        sa.Column("sources_due_at", sa.BigInteger, nullable=False),
    )
    op.execute("INSERT INTO history_state (id, totals_due_at, sources_due_at) VALUES (1, 0, 0)")
    zero = sa.text("0")
    op.create_table(
        "history",
        sa.Column("span", sa.SmallInteger, nullable=False),
        sa.Column("source_id", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("band", sa.SmallInteger, nullable=False),
        sa.Column("requests", sa.Integer, nullable=False, server_default=zero),
        sa.Column("failures", sa.Integer, nullable=False, server_default=zero),
        sa.Column("counts", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("span", "source_id", "at", "band"),
        sqlite_with_rowid=False,
    )
    for number, more in (("requests", ""), ("failures", " AND failures > 0")):
        where = sa.text(f"source_id > 0{more}")
        op.create_index(f"history_by_{number}", "history", ["span", "at", number, "source_id"],
                        sqlite_where=where, postgresql_where=where)  # fmt: skip
