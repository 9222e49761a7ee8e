"""Workers report how much memory they use."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
oldest_program = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("workers", sa.Column("memory_bytes", sa.BigInteger))
