"""Rules of alerts, the alerts they raised, and the messages about them."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
oldest_program = "0013"
branch_labels = None
depends_on = None

_Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_Key = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    _make_rules()
    _make_alerts()
    _make_messages()
    op.execute("INSERT INTO alert_evaluations (id, turn) VALUES (1, 0)")


def _make_rules() -> None:
    op.create_table(
        "alert_rules",
        _key("name"),
        sa.Column("declared", sa.Text(), nullable=False),
        sa.Column("described_as", sa.Text()),
        _moment("updated_at"),
        sa.PrimaryKeyConstraint("name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "alert_channels",
        _key("name"),
        sa.Column("declared", sa.Text(), nullable=False),
        _moment("updated_at"),
        sa.PrimaryKeyConstraint("name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "alert_mutes",
        _key("rule"),
        _key("subject"),
        _moment("until_at"),
        sa.PrimaryKeyConstraint("rule", "subject"),
        sqlite_with_rowid=False,
    )


def _make_alerts() -> None:
    op.create_table(
        "alert_evaluations",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        _moment("turn"),
        sa.Column("evaluated_at", sa.BigInteger()),
        sa.Column("clock_version", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "alerts",
        _key("rule"),
        _key("subject"),
        sa.Column("phase", sa.Text(), nullable=False),
        _moment("held_ms"),
        _moment("seen_at"),
        sa.Column("value", sa.Double()),
        sa.Column("incident", sa.BigInteger()),
        sa.Column("announced", sa.Boolean(), nullable=False, server_default=sa.text("false")),
        _moment("since_at"),
        sa.Column("fired_at", sa.BigInteger()),
        sa.Column("resolved_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("rule", "subject"),
        sqlite_with_rowid=False,
    )


def _make_messages() -> None:
    op.create_table(
        "alert_changes",
        sa.Column("seq", _Id, autoincrement=True, nullable=False),
        *(_key(name) for name in ("rule", "subject")),
        _moment("incident"),
        _key("phase"),
        _moment("at"),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("rule", "subject", "incident", "phase"),
        sqlite_autoincrement=True,
    )
    op.create_index("alert_changes_by_age", "alert_changes", ["at"])
    op.create_table(
        "alert_deliveries",
        sa.Column("id", _Id, autoincrement=True, nullable=False),
        sa.Column("change_seq", sa.BigInteger()),
        _key("channel"),
        sa.Column("state", sa.Text(), nullable=False, server_default="waiting"),
        sa.Column("attempts", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("next_at", sa.BigInteger()),
        sa.Column("status", sa.SmallInteger()),
        sa.Column("error", sa.Text()),
        _moment("created_at"),
        sa.Column("ended_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("change_seq", "channel"),
        sqlite_autoincrement=True,
    )
    waiting = sa.text("state = 'waiting'")
    op.create_index("alert_deliveries_next", "alert_deliveries", ["next_at"],
                    sqlite_where=waiting, postgresql_where=waiting)  # fmt: skip
    op.create_index("alert_deliveries_of_channel", "alert_deliveries", ["channel", "id"])


def _key(name: str) -> sa.Column[str]:
    return sa.Column(name, _Key, nullable=False)


def _moment(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False)
