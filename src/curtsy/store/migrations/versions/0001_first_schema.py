"""The first schema, frozen: `store/schema.py` may move on, this may not."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

STORAGE = {
    "workers": "fillfactor = 50",
    "sources": "fillfactor = 60, autovacuum_vacuum_scale_factor = 0, "
    "autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off",
    "visits": "fillfactor = 90, autovacuum_vacuum_scale_factor = 0.01, "
    "autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off",
    "pages": "fillfactor = 80",
    "items": "fillfactor = 80",
    "jobs": "fillfactor = 70",
}
"""PostgreSQL: room for updates in place, and a vacuum that comes often to what changes often."""


def upgrade() -> None:
    op.create_table(
        "attempts",
        sa.Column("page_id", sa.BigInteger(), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("source_id", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("attempt", sa.SmallInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=True),
        sa.Column("status", sa.SmallInteger(), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=True),
        sa.Column("memory", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("traceback", sa.Text(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("page_id", "turn"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "clock",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "dead_letters",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("page_id", sa.BigInteger(), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("source_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("family", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("traceback", sa.Text(), nullable=True),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column("retries", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("page_id", "turn"),
    )
    op.create_index(
        "dead_letters_open",
        "dead_letters",
        ["kind", "created_at"],
        unique=False,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "documents",
        sa.Column("page_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("content_type", sa.Text(), nullable=False),
        sa.Column("charset", sa.Text(), nullable=True),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("fetched_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("page_id", "version"),
    )
    op.create_table(
        "events",
        sa.Column(
            "seq",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("xid", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("page_id", sa.BigInteger(), nullable=True),
        sa.Column("data", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("job_id", "n"),
    )
    op.create_table(
        "firings",
        sa.Column("schedule_id", sa.BigInteger(), nullable=False),
        sa.Column("fire_at", sa.BigInteger(), nullable=False),
        sa.Column("fired_at", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("schedule_id", "fire_at"),
    )
    op.create_table(
        "hosts",
        sa.Column("host", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=False),
        sa.Column("source_id", sa.BigInteger(), nullable=False),
        sa.Column("robots", sa.LargeBinary(), nullable=True),
        sa.Column("robots_status", sa.SmallInteger(), nullable=True),
        sa.Column("robots_expires_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("host"),
        sqlite_with_rowid=False,
    )
    op.create_index("hosts_source", "hosts", ["source_id"], unique=False)
    op.create_table(
        "items",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("page_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("source_label", sa.Text(), nullable=True),
        sa.Column("category", sa.Text(), nullable=True),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("depth", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("cached", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("document_version", sa.Integer(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("fetched_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("job_id", "position"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "items_waiting",
        "items",
        ["page_id"],
        unique=False,
        sqlite_where=sa.text("state = 0"),
        postgresql_where=sa.text("state = 0"),
    )
    op.create_table(
        "jobs",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column(
            "public_id", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=False
        ),
        sa.Column(
            "run_id", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=True
        ),
        sa.Column("door", sa.Text(), nullable=False),
        sa.Column(
            "user_id", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=True
        ),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=True),
        sa.Column("scraper", sa.Text(), nullable=False),
        sa.Column("params", sa.Text(), server_default="{}", nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("paused_at", sa.BigInteger(), nullable=True),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failed", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("cancelled", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("cached", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_event", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("round", sa.Integer(), server_default="1", nullable=False),
        sa.Column("trigger", sa.Text(), server_default="manual", nullable=False),
        sa.Column("schedule_id", sa.BigInteger(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("public_id"),
        sa.UniqueConstraint("run_id"),
    )
    op.create_index("jobs_in_state", "jobs", ["state", "created_at"], unique=False)
    op.create_index("jobs_newest", "jobs", ["created_at", "id"], unique=False)
    op.create_index("jobs_of_user", "jobs", ["user_id", "created_at"], unique=False)
    op.create_table(
        "pages",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column(
            "fingerprint", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=False
        ),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=False),
        sa.Column("scraper", sa.Text(), nullable=False),
        sa.Column("options", sa.Text(), nullable=True),
        sa.Column("reference_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("turn", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("retry_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("checked_at", sa.BigInteger(), nullable=True),
        sa.Column("fetched_at", sa.BigInteger(), nullable=True),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("last_modified", sa.Text(), nullable=True),
        sa.Column("document_version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("document_hash", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("fingerprint"),
    )
    op.create_table(
        "schedules",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("name", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=False),
        sa.Column(
            "user_id", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=True
        ),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("timezone", sa.Text(), server_default="UTC", nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("overlap", sa.Text(), server_default="skip", nullable=False),
        sa.Column("catch_up", sa.Text(), server_default="latest", nullable=False),
        sa.Column("jitter_ms", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("next_fire_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_index(
        "schedules_next",
        "schedules",
        ["next_fire_at"],
        unique=False,
        sqlite_where=sa.text("enabled AND next_fire_at IS NOT NULL"),
        postgresql_where=sa.text("enabled AND next_fire_at IS NOT NULL"),
    )
    op.create_table(
        "sources",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("name", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=False),
        sa.Column("policy", sa.Text(), server_default="{}", nullable=False),
        sa.Column("control_version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("paused", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("band", sa.SmallInteger(), server_default="2", nullable=False),
        sa.Column("ready_at", sa.BigInteger(), nullable=True),
        sa.Column("owner", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=True),
        sa.Column("epoch", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("next_fetch_at", sa.BigInteger(), nullable=True),
        sa.Column("delay_ms", sa.BigInteger(), server_default="1000", nullable=False),
        sa.Column("pace", sa.Text(), nullable=True),
        sa.Column("ranks", sa.Text(), server_default="{}", nullable=False),
        sa.Column("looks", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failing_since", sa.BigInteger(), nullable=True),
        sa.Column("gave_up_at", sa.BigInteger(), nullable=True),
        sa.Column("gave_up_kind", sa.Text(), nullable=True),
        sa.Column("fail_streak", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("crash_streak", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("suspect_page_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_index(
        "sources_owned",
        "sources",
        ["owner"],
        unique=False,
        sqlite_where=sa.text("owner IS NOT NULL"),
        postgresql_where=sa.text("owner IS NOT NULL"),
    )
    op.create_index(
        "sources_ready",
        "sources",
        ["band", "ready_at"],
        unique=False,
        sqlite_where=sa.text("owner IS NULL AND ready_at IS NOT NULL AND NOT paused"),
        postgresql_where=sa.text("owner IS NULL AND ready_at IS NOT NULL AND NOT paused"),
    )
    op.create_table(
        "submissions",
        sa.Column("key", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=False),
        sa.Column("job", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=False),
        sa.Column("request_hash", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
        sqlite_with_rowid=False,
    )
    op.create_index("submissions_expiry", "submissions", ["expires_at"], unique=False)
    op.create_table(
        "visits",
        sa.Column(
            "page_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("source_id", sa.BigInteger(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("current_url", sa.Text(), nullable=True),
        sa.Column("hops", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("progress", sa.Text(), nullable=True),
        sa.Column("crashes", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("page_id"),
    )
    op.create_index(
        "visits_due",
        "visits",
        ["source_id", "due_at"],
        unique=False,
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_index(
        "visits_ready",
        "visits",
        ["source_id", "priority", "rank", "page_id"],
        unique=False,
        sqlite_where=sa.text("due_at IS NULL"),
        postgresql_where=sa.text("due_at IS NULL"),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("in_flight", sa.Text(), server_default="[]", nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("program", sa.Text(), nullable=False),
        sa.Column("draining", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.execute("INSERT INTO clock (id, version) VALUES (1, 1)")
    if op.get_context().dialect.name == "postgresql":
        _tune_postgres()


def _tune_postgres() -> None:
    op.create_index(
        "attempts_by_age", "attempts", ["ended_at"], unique=False, postgresql_using="brin"
    )
    op.create_index("events_feed", "events", ["xid", "seq"], unique=False)
    for table, parameters in STORAGE.items():
        op.execute(f"ALTER TABLE {table} SET ({parameters})")
