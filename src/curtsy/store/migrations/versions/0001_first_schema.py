"""The first schema."""

from alembic import op

from curtsy.store.schema import metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    metadata.create_all(op.get_bind())
    op.execute("INSERT INTO clock (id, version) VALUES (1, 1)")
