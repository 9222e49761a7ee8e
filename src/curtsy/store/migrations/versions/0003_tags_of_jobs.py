"""Jobs are found by their tags, which have a table of their own, and by whether all failed."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    key = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")
    op.create_table(
        "job_tags",
        sa.Column("tag", key, nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tag", "job_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("job_tags_of_job", "job_tags", ["job_id"])
    op.drop_column("jobs", "tags")
    op.drop_index("jobs_in_state", "jobs")
    op.create_index("jobs_in_state", "jobs", ["state", "created_at", "id"])
    for name, done in (("in_part", "done > 0"), ("whole", "done = 0")):
        which = sa.text(f"state = 'failed' AND {done}")
        op.create_index(
            f"jobs_failed_{name}", "jobs", ["state", "created_at", "id"],
            sqlite_where=which, postgresql_where=which,
        )  # fmt: skip
