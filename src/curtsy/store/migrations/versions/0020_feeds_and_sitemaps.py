"""Crawls that start from feeds and sitemaps: what they have seen, the entries that wait to be
admitted, and what a job does with each page."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
oldest_program = "0013"
branch_labels = None
depends_on = None

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_Key = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")
SETTINGS = {
    "autovacuum_vacuum_scale_factor": 0.02, "autovacuum_vacuum_threshold": 1_000,
    "autovacuum_analyze_scale_factor": 0.02, "autovacuum_vacuum_cost_delay": 1,
}  # fmt: skip


def upgrade() -> None:
    op.create_table(
        "subscriptions",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("key", _Key, nullable=False, unique=True),
        sa.Column("user_id", _Key),
        sa.Column("schedule_id", sa.BigInteger()),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("scraper", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_run_at", sa.BigInteger(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("subscriptions_by_run", "subscriptions", ["last_run_at"])
    op.create_table(
        "seen_entries",
        sa.Column("subscription_id", sa.BigInteger(), nullable=False),
        sa.Column("entry", _Key, nullable=False),
        sa.Column("stamp", sa.Text(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("found_in", _Key),
        sa.Column("whole", sa.Boolean(), nullable=False, server_default=sa.text("false")),
        sa.Column("listed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("subscription_id", "entry"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lists",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("depth", sa.SmallInteger(), nullable=False),
        sa.Column("page_id", sa.BigInteger(), nullable=False),
        sa.Column("document_version", sa.Integer(), nullable=False),
        sa.Column("reached", sa.Integer(), nullable=False, server_default="0"),
        sqlite_autoincrement=True,
    )
    op.create_index("lists_of_job", "lists", ["job_id"])
    if op.get_bind().dialect.name == "postgresql":
        given = ", ".join(f"{name} = {value}" for name, value in SETTINGS.items())
        op.execute(f"ALTER TABLE seen_entries SET ({given})")
    op.add_column("crawled", sa.Column("subscription_id", sa.BigInteger()))
    op.add_column("items", sa.Column("uses", sa.SmallInteger(), nullable=False, server_default="3"))
