"""Ways to dead letters: by state, kind and source, and from a page to the items that failed."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_OPEN, _FAILED = sa.text("state = 'open'"), sa.text("state = 2")


def upgrade() -> None:
    op.create_index(
        "items_failed", "items", ["page_id"], sqlite_where=_FAILED, postgresql_where=_FAILED
    )
    op.drop_index("dead_letters_open", "dead_letters")
    op.create_index("dead_letters_in_state", "dead_letters", ["state", "id"])
    for name, column in (("kind", "kind"), ("source", "source_id")):
        op.create_index(
            f"dead_letters_of_{name}", "dead_letters", [column, "id"],
            sqlite_where=_OPEN, postgresql_where=_OPEN,
        )  # fmt: skip
