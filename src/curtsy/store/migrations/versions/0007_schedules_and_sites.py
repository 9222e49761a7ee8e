"""Schedules that fire, sites that run on them, and the records that they find."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_Key = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    _make_schedules()
    _make_firings()
    _make_sites()
    for name, kind in (("site_id", sa.BigInteger()), ("search", _Key),
                       ("gathered_at", sa.BigInteger())):  # fmt: skip
        op.add_column("jobs", sa.Column(name, kind))
    for index, columns, where in (
        ("jobs_open_of_schedule", ["schedule_id"],
         "finished_at IS NULL AND schedule_id IS NOT NULL"),
        ("jobs_of_site", ["site_id", "created_at"], "site_id IS NOT NULL"),
        ("jobs_to_gather", ["finished_at"],
         "site_id IS NOT NULL AND gathered_at IS NULL AND finished_at IS NOT NULL"),
    ):  # fmt: skip
        _partial(index, "jobs", columns, where)


def _make_schedules() -> None:
    """Until now both tables were empty: nothing could fill them."""
    op.drop_table("firings")
    op.drop_table("schedules")
    op.create_table(
        "schedules",
        sa.Column("id", _Id, autoincrement=True, nullable=False),
        *(_text(name, _Key) for name in ("public_id", "name")),
        sa.Column("user_id", _Key),
        _text("owner", _Key, default=""),
        sa.Column("key_id", sa.BigInteger()),
        _text("rule"),
        _text("timezone", default="UTC"),
        _text("payload"),
        _text("overlap", default="skip"),
        _text("catch_up", default="latest"),
        _moment("window_ms"),
        sa.Column("not_before", sa.BigInteger()),
        sa.Column("enabled", sa.Boolean(), nullable=False, server_default=sa.text("true")),
        *(sa.Column(name, sa.BigInteger())
          for name in ("next_fire_at", "waiting_fire_at", "look_at", "last_fire_at")),
        sa.Column("first_job", _Key),
        sa.Column("site_id", sa.BigInteger()),
        sa.Column("described_as", sa.Text()),
        _moment("created_at"),
        _moment("updated_at"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("public_id"),
        sa.UniqueConstraint("owner", "name"),
        sqlite_autoincrement=True,
    )  # fmt: skip
    _partial("schedules_to_look_at", "schedules", ["look_at"], "look_at IS NOT NULL")
    op.create_index("schedules_named", "schedules", ["name"])
    op.create_index("schedules_of_user", "schedules", ["user_id", "id"])


def _make_firings() -> None:
    op.create_table(
        "firings",
        _moment("schedule_id"),
        _moment("fire_at"),
        _moment("fired_at"),
        _text("trigger"),
        _text("outcome"),
        sa.Column("job_id", sa.BigInteger()),
        sa.Column("message", sa.Text()),
        sa.PrimaryKeyConstraint("schedule_id", "fire_at"),
    )
    op.create_index("firings_by_time", "firings", ["fired_at"])
    _partial("firings_of_job", "firings", ["job_id"], "job_id IS NOT NULL")
    op.create_table(
        "schedulers",
        _text("id", _Key),
        _text("machine"),
        sa.Column("pid", sa.Integer(), nullable=False),
        _text("program"),
        _moment("started_at"),
        _moment("ticked_at"),
        sa.PrimaryKeyConstraint("id"),
    )


def _make_sites() -> None:
    op.create_table(
        "sites",
        sa.Column("id", _Id, autoincrement=True, nullable=False),
        _text("name", _Key),
        _text("declared"),
        sa.Column("enabled", sa.Boolean(), nullable=False, server_default=sa.text("false")),
        sa.Column("described_as", sa.Text()),
        _moment("created_at"),
        _moment("updated_at"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "records",
        _moment("site_id"),
        _text("key", _Key),
        _text("data"),
        _text("hash"),
        *(_moment(name) for name in ("first_seen_at", "last_seen_at", "changed_at")),
        sa.PrimaryKeyConstraint("site_id", "key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "sightings",
        _moment("job_id"),
        _text("key", _Key),
        sa.Column("position", sa.Integer(), nullable=False),
        _text("change"),
        _text("data"),
        sa.PrimaryKeyConstraint("job_id", "key"),
        sqlite_with_rowid=False,
    )
    op.create_index("sightings_in_order", "sightings", ["job_id", "position"])


def _partial(name: str, table: str, columns: list[str], where: str) -> None:
    some = sa.text(where)
    op.create_index(name, table, columns, sqlite_where=some, postgresql_where=some)


def _text(name: str, kind: sa.types.TypeEngine[str] | None = None, *, default: str | None = None
          ) -> sa.Column[str]:  # fmt: skip
    return sa.Column(name, kind if kind is not None else sa.Text(), nullable=False,
                     server_default=default)  # fmt: skip


def _moment(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False)
