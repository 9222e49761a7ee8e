"""Requests with a method and a body: which POSTs were about to be sent, and which redirects repeat
them."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
oldest_program = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pages", sa.Column("sent_turn", sa.BigInteger()))
    op.add_column(
        "visits",
        sa.Column("repeats", sa.Boolean(), nullable=False, server_default=sa.text("false")),
    )
