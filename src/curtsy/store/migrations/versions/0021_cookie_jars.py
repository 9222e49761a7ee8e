"""The cookies of sessions, for each session and source."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
oldest_program = "0013"
branch_labels = None
depends_on = None

_Key = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "cookie_jars",
        sa.Column("session", _Key, nullable=False),
        sa.Column("source_id", sa.BigInteger(), nullable=False),
        sa.Column("cookies", sa.Text(), nullable=False),
        sa.Column("login", sa.Text(), nullable=False, server_default="{}"),
        sa.Column("job_id", sa.BigInteger()),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("session", "source_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("cookie_jars_by_age", "cookie_jars", ["updated_at"])
    op.create_index(
        "cookie_jars_of_job", "cookie_jars", ["job_id"],
        postgresql_where=sa.text("job_id IS NOT NULL"), sqlite_where=sa.text("job_id IS NOT NULL"),
    )  # fmt: skip
