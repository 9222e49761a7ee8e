"""SQLite gives no id out twice, as PostgreSQL never did: a late word of a row that is gone cannot
be taken for one of the next. Jobs are found by state and door; keys of clients have names of their
own, apart from those that stand for what a crawl asks for."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

NUMBERED = ("sources", "jobs", "pages", "dead_letters", "links", "api_keys", "webhook_deliveries")


def upgrade() -> None:
    _find_jobs_by_door()
    op.execute("UPDATE submissions SET key = 'idem:' || key WHERE key NOT LIKE 'crawl:%'")
    if op.get_bind().dialect.name == "sqlite":
        for table in NUMBERED:  # made anew as it is, whatever columns and indexes it has by then
            with op.batch_alter_table(
                table, recreate="always", table_kwargs={"sqlite_autoincrement": True}
            ):
                pass


def _find_jobs_by_door() -> None:
    op.drop_index("jobs_in_state", "jobs")
    op.create_index("jobs_in_state", "jobs", ["state", "door", "created_at", "id"])
    for name, done in (("in_part", "done > 0"), ("whole", "done = 0")):
        which = sa.text(f"state = 'failed' AND {done}")
        op.drop_index(f"jobs_failed_{name}", "jobs")
        op.create_index(
            f"jobs_failed_{name}", "jobs", ["door", "created_at", "id"],
            sqlite_where=which, postgresql_where=which,
        )  # fmt: skip
