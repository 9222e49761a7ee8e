"""A page that its host refuses while it answers others is known; hosts are given up one by one."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("visits", sa.Column("refused", sa.SmallInteger, nullable=False,
                                      server_default="0"))  # fmt: skip
    op.drop_column("sources", "gave_up_at")  # by host, with what the pacer remembers
    op.drop_column("sources", "gave_up_kind")
