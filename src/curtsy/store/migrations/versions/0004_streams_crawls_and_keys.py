"""Event numbers that are never used twice; crawls and the links they found; keys and webhooks."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.add_column("jobs", _number("links_waiting", sa.Integer()))
    op.add_column("jobs", sa.Column("webhook_url", sa.Text()))
    op.add_column(
        "visits", sa.Column("links", sa.Boolean(), nullable=False, server_default=sa.text("false"))
    )
    if op.get_bind().dialect.name == "sqlite":
        _never_count_an_event_twice()
    _create_crawls()
    _create_keys()
    _create_webhooks()


def _number(name: str, kind: sa.types.TypeEngine[int]) -> sa.Column[int]:
    return sa.Column(name, kind, nullable=False, server_default=sa.text("0"))


def _when(name: str, *, known: bool = True) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=not known)


def _never_count_an_event_twice() -> None:
    """SQLite gives the numbers of deleted rows out again unless it is told not to."""
    op.rename_table("events", "old_events")
    op.create_table(
        "events",
        sa.Column("seq", sa.Integer(), primary_key=True, autoincrement=True),
        _number("xid", sa.BigInteger()),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        _when("at"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("page_id", sa.BigInteger()),
        sa.Column("data", sa.Text()),
        sa.UniqueConstraint("job_id", "n"),
        sqlite_autoincrement=True,
    )
    columns = "seq, xid, job_id, n, at, name, page_id, data"
    op.execute(f"INSERT INTO events ({columns}) SELECT {columns} FROM old_events")  # noqa: S608
    op.drop_table("old_events")


def _create_crawls() -> None:
    op.create_table(
        "crawls",
        sa.Column("job_id", ID, primary_key=True, autoincrement=False),
        sa.Column("depth", sa.SmallInteger(), nullable=False),
        sa.Column("max_pages", sa.Integer(), nullable=False),
        sa.Column("admitted", sa.Integer(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
    )
    op.create_table(
        "crawled",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("fingerprint", KEY, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "fingerprint"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "links",
        sa.Column("id", ID, primary_key=True, autoincrement=True),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("depth", sa.SmallInteger(), nullable=False),
        sa.Column("urls", sa.Text(), nullable=False),
    )
    op.create_index("links_of_job", "links", ["job_id"])


def _create_keys() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", ID, primary_key=True, autoincrement=True),
        sa.Column("public_id", KEY, nullable=False, unique=True),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("user_id", KEY, nullable=False),
        sa.Column("name", sa.Text()),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("pages_per_hour", sa.Integer()),
        sa.Column("open_jobs", sa.Integer()),
        _when("hour", known=False),
        _number("pages_this_hour", sa.Integer()),
        _when("created_at"),
        _when("expires_at", known=False),
        _when("revoked_at", known=False),
        _when("used_at", known=False),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", KEY, primary_key=True),
        sa.Column("key_id", sa.BigInteger(), nullable=False),
        sa.Column("csrf", sa.Text(), nullable=False),
        _when("created_at"),
        _when("expires_at"),
        sqlite_with_rowid=False,
    )
    op.create_index("sessions_expiry", "sessions", ["expires_at"])
    op.create_table(
        "secrets",
        sa.Column("name", KEY, primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
        _when("created_at"),
        sqlite_with_rowid=False,
    )


def _create_webhooks() -> None:
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", ID, primary_key=True, autoincrement=True),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False, server_default="waiting"),
        _number("attempts", sa.SmallInteger()),
        _when("next_at", known=False),
        sa.Column("status", sa.SmallInteger()),
        sa.Column("error", sa.Text()),
        _when("created_at"),
        _when("ended_at", known=False),
        sa.UniqueConstraint("job_id", "round"),
    )
    waiting = sa.text("state = 'waiting'")
    op.create_index(
        "webhook_deliveries_next", "webhook_deliveries", ["next_at"],
        sqlite_where=waiting, postgresql_where=waiting,
    )  # fmt: skip
