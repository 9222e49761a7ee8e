"""The open jobs of a user are counted without a look at those that have ended."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_open = sa.text("finished_at IS NULL AND user_id IS NOT NULL")
    op.create_index(
        "jobs_open_of_user", "jobs", ["user_id"], sqlite_where=is_open, postgresql_where=is_open
    )
