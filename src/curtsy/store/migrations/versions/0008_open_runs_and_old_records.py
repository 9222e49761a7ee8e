"""Open runs of sites, and records not seen for long, are found without a look at the others."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    some = sa.text("finished_at IS NULL AND site_id IS NOT NULL")
    op.create_index("jobs_open_of_site", "jobs", ["site_id"],
                    sqlite_where=some, postgresql_where=some)  # fmt: skip
    op.create_index("records_by_sight", "records", ["site_id", "last_seen_at"])
