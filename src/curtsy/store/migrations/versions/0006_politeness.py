"""Policies and how they are kept: pace, receipts, where a job's time went."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sources", sa.Column("paused_by", sa.Text()))
    op.add_column("sources", _flag("described"))
    op.add_column("sources", sa.Column("described_as", sa.Text()))
    op.add_column("sources", sa.Column("hosts_moved_at", sa.BigInteger()))
    op.add_column("sources", sa.Column("paced_at", sa.BigInteger()))
    op.add_column("sources", _flag("unreported"))
    for index, column, where in (
        ("sources_described", "name", "described"),
        ("sources_left", "hosts_moved_at", "hosts_moved_at IS NOT NULL"),
    ):
        some = sa.text(where)
        op.create_index(index, "sources", [column], sqlite_where=some, postgresql_where=some)
    op.add_column("workers", _number("slots", sa.Integer()))
    op.add_column("jobs", sa.Column("finish_by", sa.BigInteger()))
    for what in ("capacity", "politeness", "closed", "backoff", "fetching"):
        op.add_column("jobs", _number(f"{what}_ms", sa.BigInteger()))
    op.add_column("pages", sa.Column("wire_bytes", sa.BigInteger()))
    op.add_column("crawls", sa.Column("ranks", sa.Text(), nullable=False, server_default="{}"))
    op.create_table(
        "receipts",
        sa.Column("source_id", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        _number("requests", sa.Integer()),
        _number("robots_requests", sa.Integer()),
        _number("robots_refusals", sa.Integer()),
        sa.Column("smallest_gap_ms", sa.BigInteger()),
        _number("rests_announced", sa.Integer()),
        _number("rests_of_our_own", sa.Integer()),
        _number("not_modified", sa.Integer()),
        _number("bytes", sa.BigInteger()),
        _number("bytes_saved", sa.BigInteger()),
        sa.PrimaryKeyConstraint("source_id", "day"),
        sqlite_with_rowid=False,
    )


def _number(name: str, kind: sa.types.TypeEngine[int]) -> sa.Column[int]:
    return sa.Column(name, kind, nullable=False, server_default=sa.text("0"))


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.text("false"))
