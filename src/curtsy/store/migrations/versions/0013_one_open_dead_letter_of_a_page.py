"""A page has at most one open dead letter, with the number of its failures and whether the last was
final. Of older letters the newest stays open and counts the others."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_OPEN = sa.text("state = 'open'")
_FILL = sa.text(
    """
    UPDATE dead_letters SET last_failed_at = created_at,
        final = (kind = 'dns' AND error LIKE 'There is no host named %')
    """
)
_COUNT = sa.text(
    """
    UPDATE dead_letters SET times = s.times, created_at = s.first_at
    FROM (SELECT page_id, max(id) AS newest, count(*) AS times, min(created_at) AS first_at
          FROM dead_letters WHERE state = 'open' GROUP BY page_id HAVING count(*) > 1) s
    WHERE dead_letters.id = s.newest
    """
)
_CLOSE = sa.text(
    """
    UPDATE dead_letters SET state = 'resolved' WHERE state = 'open' AND id NOT IN (
        SELECT max(id) FROM dead_letters WHERE state = 'open' GROUP BY page_id)
    """
)


def upgrade() -> None:
    no = sa.text("false")
    op.add_column("dead_letters", sa.Column("final", sa.Boolean, nullable=False, server_default=no))
    op.add_column("dead_letters", sa.Column("times", sa.Integer, nullable=False,
                                            server_default="1"))  # fmt: skip
    op.add_column("dead_letters", sa.Column("last_failed_at", sa.BigInteger, nullable=False,
                                            server_default="0"))  # fmt: skip
    connection = op.get_bind()
    for statement in (_FILL, _COUNT, _CLOSE):
        connection.execute(statement)
    op.create_index("dead_letters_open", "dead_letters", ["page_id"], unique=True,
                    sqlite_where=_OPEN, postgresql_where=_OPEN)  # fmt: skip
