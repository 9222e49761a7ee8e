"""Schedules know whether their site's declaration made them, and slots whether they waited."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_OF_SITES = sa.text(
    """
    SELECT c.id, s.declared FROM schedules c JOIN sites s ON s.id = c.site_id AND s.name = c.name
    WHERE c.owner = '' AND c.described_as IS NULL
    """
)
_MARK = sa.text("UPDATE schedules SET of_site = true WHERE id = :id")
_WITH_A_ZONE = sa.text("SELECT id, payload FROM schedules WHERE payload LIKE '%\"timezone\"%'")
_SAY = sa.text("UPDATE schedules SET payload = :payload WHERE id = :id")


def upgrade() -> None:
    for table, column in (("schedules", "of_site"), ("firings", "waited")):
        no = sa.text("false")
        op.add_column(table, sa.Column(column, sa.Boolean(), nullable=False, server_default=no))
    connection = op.get_bind()
    for row in connection.execute(_OF_SITES).all():
        declared = json.loads(row.declared)
        if declared.get("interval_minutes") is not None or declared.get("cron") is not None:
            connection.execute(_MARK, {"id": row.id})
    for row in connection.execute(_WITH_A_ZONE).all():
        payload = json.loads(row.payload)
        if "timezone" in payload.get("crawl", {}):  # it was taken, and meant nothing
            del payload["crawl"]["timezone"]
            said = json.dumps(payload, separators=(",", ":"), ensure_ascii=False)
            connection.execute(_SAY, {"id": row.id, "payload": said})
